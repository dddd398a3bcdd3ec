//! Lines that only `perf script` prints.

use super::parsed::number;

/// Returns the number of lost events if the line is a record of them: `PERF_RECORD_LOST lost 12`.
pub(super) fn lost(event: &[u8], body: &[u8]) -> Option<u64> {
    if !event.starts_with(b"PERF_RECORD_LOST") {
        return None;
    }
    body.split(|&byte| byte == b' ').find_map(number)
}
