//! Namespaces, credentials and signals of tasks, for policies that read them: a process id by
//! namespace, a user, the number of threads of a process.
//!
//! They are synthetic. There is one pid namespace, the first one, with the kernel's number for it.
//! All tasks belong to root. Threads are counted.

use crate::memory::address;
use crate::world::World;
use std::sync::Arc;

/// `PROC_PID_INIT_INO`: the number of the first pid namespace.
const FIRST_PID_NAMESPACE: u64 = 0xefff_fffc;

impl World {
    fn size_of(&self, name: &str) -> u32 {
        self.image.types.structure(name).map_or(0, |layout| layout.size)
    }

    /// Returns the address of a task's own objects. They follow the objects that all tasks share:
    /// namespace, the pointer to it, credentials.
    fn objects_of_task(&self, row: u32) -> u64 {
        let common = ["pid_namespace", "nsproxy", "cred"].map(|name| self.size_of(name));
        let own = self.size_of("pid") + self.size_of("signal_struct");
        address(self.objects, common.iter().sum::<u32>() + row * own)
    }

    /// Returns the namespace, the pointer to it and the credentials that all tasks share.
    fn common_objects(&self) -> [u64; 3] {
        let namespace = address(self.objects, 0);
        let proxy = namespace + u64::from(self.size_of("pid_namespace"));
        [namespace, proxy, proxy + u64::from(self.size_of("nsproxy"))]
    }

    /// Creates the objects that all tasks share.
    pub(crate) fn make_objects(&mut self) {
        self.objects = self.vm.memory.add("objects of tasks", vec![], false);
        let [namespace, proxy, _] = self.common_objects();
        let size = self.objects_of_task(0) as u32 as usize;
        let inum = self.image.types.offset("pid_namespace", "ns.inum");
        let memory = &mut self.vm.memory;
        memory.grow(self.objects, size);
        memory.write(namespace + u64::from(inum), 4, FIRST_PID_NAMESPACE);
        memory.write(proxy, 8, namespace);
    }

    /// Fills in the objects of a task whose ids are set.
    pub(crate) fn describe_objects(&mut self, row: u32) {
        let image = Arc::clone(&self.image);
        let types = &image.types;
        let [namespace, proxy, cred] = self.common_objects();
        let pid = self.objects_of_task(row);
        let signal = self.signal_of(row);
        let end = self.objects_of_task((row + 1).next_power_of_two()) as u32 as usize;
        let number = u64::from(self.vm.memory.u32(self.task_field(row, "pid")));
        let at = |path| self.task_field(row, path);
        let pointers = [
            (at("thread_pid"), pid),
            (at("real_cred"), cred),
            (at("cred"), cred),
            (at("nsproxy"), proxy),
            (at("signal"), signal),
        ];
        let numbers = pid + u64::from(types.offset("pid", "numbers"));
        let memory = &mut self.vm.memory;
        memory.grow(self.objects, end);
        for (at, to) in pointers {
            memory.write(at, 8, to);
        }
        memory.write(pid + u64::from(types.offset("pid", "inode")), 8, number);
        memory.write(numbers + u64::from(types.offset("upid", "nr")), 4, number);
        memory.write(numbers + u64::from(types.offset("upid", "ns")), 8, namespace);
        memory.write(signal + u64::from(types.offset("signal_struct", "nr_threads")), 4, 1);
    }

    /// Adds a task as a thread of its process. It shares the signals of the first thread, which
    /// hold the number of threads.
    pub(crate) fn add_thread(&mut self, row: u32) {
        let process = self.vm.memory.u32(self.task_field(row, "tgid"));
        let (first, count) =
            *self.threads.entry(process).and_modify(|(_, count)| *count += 1).or_insert((row, 1));
        let at = self.task_field(row, "signal");
        let signal = self.signal_of(first);
        self.vm.memory.write(at, 8, signal);
        self.write_threads(first, count);
    }

    /// Removes a thread that has ended.
    pub(crate) fn remove_thread(&mut self, row: u32) {
        let process = self.vm.memory.u32(self.task_field(row, "tgid"));
        let Some((first, count)) = self.threads.get_mut(&process) else { return };
        *count -= 1;
        let (first, count) = (*first, *count);
        if count == 0 {
            self.threads.remove(&process);
        }
        self.write_threads(first, count);
    }

    fn signal_of(&self, row: u32) -> u64 {
        self.objects_of_task(row) + u64::from(self.size_of("pid"))
    }

    fn write_threads(&mut self, first: u32, count: u32) {
        let nr_threads = self.image.types.offset("signal_struct", "nr_threads");
        let at = self.signal_of(first) + u64::from(nr_threads);
        self.vm.memory.write(at, 4, count.into());
    }
}
