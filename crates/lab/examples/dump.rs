use schedlab_core::{Event, Observer};
struct D(u64, u64);
impl Observer for D {
    fn on(&mut self, now: u64, e: Event<'_>) {
        if now >= self.0 && now <= self.1 {
            println!("{now} {e:?}");
        }
    }
}
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let d = D(a[2].parse().unwrap(), a[3].parse().unwrap());
    let _ = schedlab_lab::verify::observe_file(std::path::Path::new(&a[1]), false, d);
}
