//! What only `perf script` prints.

use super::parsed::number;

/// How many events were lost, if the line says that some were: `PERF_RECORD_LOST lost 12`.
pub(super) fn lost(event: &[u8], body: &[u8]) -> Option<u64> {
    if !event.starts_with(b"PERF_RECORD_LOST") {
        return None;
    }
    body.split(|&byte| byte == b' ').find_map(number)
}
