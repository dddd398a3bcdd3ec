// Drives a headless Chromium through its debugging pipe: no package is needed. Everything that
// happens on a page is collected, so that a test can demand that nothing unwanted did.

import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';

/** The browser's program, or null if there is none. */
export function findChromium() {
  const names = ['chromium', 'chromium-browser', 'google-chrome'];
  const places = (process.env.PATH || '').split(delimiter);
  const all = places.flatMap((place) => names.map((name) => join(place, name)));
  return [process.env.CHROMIUM, ...all].find((path) => path && existsSync(path)) || null;
}

export class Browser {
  constructor(program) {
    this.profile = mkdtempSync(join(tmpdir(), 'schedlab-browser-'));
    this.child = spawn(program, ['--headless', '--no-sandbox', '--disable-gpu',
      '--disable-dev-shm-usage', '--no-first-run', '--disable-background-networking',
      `--user-data-dir=${this.profile}`, '--remote-debugging-pipe', 'about:blank'],
    { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] });
    this.waiting = new Map();
    this.listeners = new Map();
    this.next = 1;
    let rest = Buffer.alloc(0);
    this.child.stdio[4].on('data', (chunk) => {
      rest = Buffer.concat([rest, chunk]);
      for (let end = rest.indexOf(0); end >= 0; end = rest.indexOf(0)) {
        this.heard(JSON.parse(rest.subarray(0, end).toString()));
        rest = rest.subarray(end + 1);
      }
    });
    this.child.on('exit', () => {
      for (const { fail } of this.waiting.values()) fail(new Error('the browser has ended'));
      this.waiting.clear();
    });
  }

  heard(message) {
    if (message.id) {
      const { done, fail } = this.waiting.get(message.id) || {};
      this.waiting.delete(message.id);
      if (message.error) fail?.(new Error(message.error.message));
      else done?.(message.result);
      return;
    }
    this.listeners.get(message.sessionId)?.(message.method, message.params);
  }

  send(method, params = {}, sessionId = undefined) {
    const id = this.next;
    this.next += 1;
    this.child.stdio[3].write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    return new Promise((done, fail) => { this.waiting.set(id, { done, fail }); });
  }

  /** A page of that size, which tells everything that happens there. */
  async page(width, height) {
    const { targetId } = await this.send('Target.createTarget', { url: 'about:blank' });
    const { sessionId } = await this.send('Target.attachToTarget', { targetId, flatten: true });
    const page = new Page(this, sessionId);
    this.listeners.set(sessionId, (method, params) => page.heard(method, params));
    for (const domain of ['Page', 'Runtime', 'Log', 'Network']) await page.send(`${domain}.enable`);
    await page.send('Emulation.setDeviceMetricsOverride',
      { width, height, deviceScaleFactor: 1, mobile: false });
    return page;
  }

  async close() {
    const ended = new Promise((done) => { this.child.once('exit', done); });
    await this.send('Browser.close').catch(() => {});
    await Promise.race([ended, new Promise((done) => { setTimeout(done, 5000); })]);
    if (this.child.exitCode === null) this.child.kill('SIGKILL');
    rmSync(this.profile, { recursive: true, force: true, maxRetries: 5 });
  }
}

class Page {
  constructor(browser, session) {
    this.browser = browser;
    this.session = session;
    /** What should not have happened: console messages, errors, requests. */
    this.complaints = [];
    this.requests = [];
  }

  heard(method, params) {
    if (method === 'Runtime.exceptionThrown') {
      const { text, exception } = params.exceptionDetails;
      this.complaints.push(`exception: ${text} ${exception?.description || ''}`);
    } else if (method === 'Runtime.consoleAPICalled') {
      this.complaints.push(`console: ${params.args.map((one) => one.value).join(' ')}`);
    } else if (method === 'Log.entryAdded') {
      this.complaints.push(`log: ${params.entry.text}`);
    } else if (method === 'Network.requestWillBeSent') {
      this.requests.push(params.request.url);
    } else if (method === 'Page.javascriptDialogOpening') {
      this.complaints.push(`dialog: ${params.message}`);
      this.send('Page.handleJavaScriptDialog', { accept: false });
    }
  }

  send(method, params) {
    return this.browser.send(method, params, this.session);
  }

  async open(url) {
    await this.send('Page.navigate', { url });
    const done = '(document.body.dataset.ready || document.body.dataset.failed)';
    await this.until(`document.body && ${done}`);
  }

  /** The value of an expression in the page. */
  async value(expression) {
    const { result, exceptionDetails } = await this.send('Runtime.evaluate',
      { expression, returnByValue: true, awaitPromise: true });
    if (exceptionDetails) {
      throw new Error(`${expression}: ${exceptionDetails.exception?.description}`);
    }
    return result.value;
  }

  /** Waits until an expression is true. */
  async until(expression, seconds = 60) {
    for (let turn = 0; turn < seconds * 20; turn += 1) {
      if (await this.value(`Boolean(${expression})`)) return;
      await new Promise((done) => { setTimeout(done, 50); });
    }
    throw new Error(`this never became true: ${expression}`);
  }

  /** Lets the page draw. */
  async settle() {
    await this.value('new Promise((done) => requestAnimationFrame(() => setTimeout(done, 30)))');
  }

  async mouse(type, x, y, more = {}) {
    await this.send('Input.dispatchMouseEvent', { type, x, y, ...more });
    await this.settle();
  }

  async key(key, modifiers = 0) {
    const text = key.length === 1 ? key : undefined;
    const code = { Tab: 9, Enter: 13, Escape: 27, End: 35, Home: 36, ArrowLeft: 37, ArrowUp: 38,
      ArrowRight: 39, ArrowDown: 40 }[key] || 0;
    const named = code > 0 ? key : undefined;
    const event = { key, text, modifiers, code: named, windowsVirtualKeyCode: code };
    await this.send('Input.dispatchKeyEvent', { type: text ? 'keyDown' : 'rawKeyDown', ...event });
    await this.send('Input.dispatchKeyEvent', { type: 'keyUp', ...event });
    await this.settle();
  }

  async screenshot(full = false) {
    const { data } = await this.send('Page.captureScreenshot',
      { format: 'png', captureBeyondViewport: full });
    return Buffer.from(data, 'base64');
  }
}
