//! Error numbers that helpers and kernel functions return.

/// `-ENOENT`.
pub const ENOENT: i64 = -2;
/// `-E2BIG`.
pub const E2BIG: i64 = -7;
/// `-EAGAIN`.
pub const EAGAIN: i64 = -11;
/// `-EFAULT`.
pub const EFAULT: i64 = -14;
/// `-EBUSY`.
pub const EBUSY: i64 = -16;
/// `-EEXIST`.
pub const EEXIST: i64 = -17;
/// `-EINVAL`.
pub const EINVAL: i64 = -22;
