//! The memory of the BPF machine: regions, selected by the high half of an address.
//!
//! An address is a region's number in its high 32 bits and an offset in its low 32 bits. No address
//! of this process is visible to a policy, so that runs repeat bit for bit. Offsets never move;
//! regions grow at their end. An address outside all regions is unmapped: loads from it give 0, as
//! the kernel gives for an invalid pointer, and stores to it end the policy.

/// Stacks: a frame of 512 bytes for each call.
pub const STACK: u32 = 1;
/// Arguments of callbacks.
pub const ARGS: u32 = 2;
/// `struct task_struct`, one for each task. The idle tasks come first.
pub const TASKS: u32 = 3;
/// Groups.
pub const GROUPS: u32 = 4;
/// `struct rq`, one for each CPU.
pub const RQS: u32 = 5;
/// CPU masks: the class's own, then those that policies create.
pub const MASKS: u32 = 6;
/// Objects that policies create (`bpf_obj_new`).
pub const HEAP: u32 = 7;
/// Structures that callbacks and iterators receive.
pub const SCRATCH: u32 = 8;
/// Addresses of functions of the object. Unmapped.
pub const CODE: u32 = 9;
/// Addresses of kernel functions. Unmapped.
pub const KFUNCS: u32 = 10;
/// Handles of maps. Unmapped.
pub const MAPS: u32 = 11;
/// Addresses of `mm_struct`. Unmapped.
pub const MM: u32 = 12;
/// The dump of an ended policy.
pub const DUMP: u32 = 13;
/// Pages of the arena.
pub const ARENA: u32 = 14;
/// Records of ring buffers.
pub const RINGS: u32 = 15;
/// The first region for the object's own sections and maps.
pub const FIRST_FREE: u32 = 16;

/// Reads bytes (at most eight) as a little-endian number.
pub fn little_endian(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |sum, &byte| sum << 8 | u64::from(byte))
}

/// Makes an address of a region and an offset.
#[inline]
pub const fn address(region: u32, offset: u32) -> u64 {
    (region as u64) << 32 | offset as u64
}

/// Splits an address into region and offset.
#[inline]
pub const fn place(address: u64) -> (u32, u32) {
    ((address >> 32) as u32, address as u32)
}

/// Returns the address (handle) of a map, by its index.
pub fn map_handle(number: usize) -> u64 {
    address(MAPS, (number as u32 + 1) * 8)
}

/// Returns the index of the map with this handle.
pub fn map_number(handle: u64) -> Option<usize> {
    let (region, offset) = place(handle);
    (region == MAPS && offset >= 8 && offset % 8 == 0).then(|| offset as usize / 8 - 1)
}

/// Returns the address of an instruction.
pub fn code_address(pc: usize) -> u64 {
    address(CODE, pc as u32 * 8)
}

/// Returns the instruction at this address, which must be the first of a function.
pub fn code_number(address: u64) -> Option<usize> {
    let (region, offset) = place(address);
    (region == CODE && offset % 8 == 0).then_some(offset as usize / 8)
}

/// A region.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Region {
    /// Its name, for messages.
    pub name: String,
    /// Its contents.
    pub bytes: Vec<u8>,
    /// Whether policies may write it.
    pub is_writable: bool,
}

/// Reason why a store is refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum StoreFault {
    /// The address is unmapped.
    NoMemory,
    /// The region with this name is read-only.
    ReadOnly(String),
}

/// Members of the objects in a read-only region that policies may write.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Holes {
    /// The region.
    pub region: u32,
    /// Distance between objects, bytes.
    pub stride: u32,
    /// Start and end of each member within an object, bytes.
    pub members: Vec<(u32, u32)>,
}

impl Holes {
    fn take(&self, region: u32, offset: u32, width: usize) -> bool {
        if region != self.region || self.stride == 0 {
            return false;
        }
        let within = offset % self.stride;
        let end = within as usize + width;
        self.members.iter().any(|&(from, to)| from <= within && end <= to as usize)
    }
}

/// All regions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Memory {
    regions: Vec<Region>,
    /// Members of tasks that policies may write.
    pub holes: Holes,
}

impl Default for Memory {
    fn default() -> Self {
        let regions = vec![Region::default(); FIRST_FREE as usize];
        Memory { regions, holes: Holes::default() }
    }
}

impl Memory {
    /// Creates one of the regions named above.
    pub fn set(&mut self, region: u32, name: &str, size: usize, is_writable: bool) {
        let made = Region { name: name.into(), bytes: vec![0; size], is_writable };
        self.regions[region as usize] = made;
    }

    /// Adds a region and returns its number.
    pub fn add(&mut self, name: &str, bytes: Vec<u8>, is_writable: bool) -> u32 {
        self.regions.push(Region { name: name.into(), bytes, is_writable });
        self.regions.len() as u32 - 1
    }

    /// Returns the size of a region, bytes.
    pub fn size(&self, region: u32) -> usize {
        self.regions.get(region as usize).map_or(0, |region| region.bytes.len())
    }

    /// Grows a region to at least `size` bytes.
    pub fn grow(&mut self, region: u32, size: usize) {
        if let Some(region) = self.regions.get_mut(region as usize)
            && region.bytes.len() < size
        {
            region.bytes.resize(size, 0);
        }
    }

    /// Moves the contents of a region from another memory.
    pub(crate) fn take_over(&mut self, from: &mut Memory, region: u32) {
        let region = region as usize;
        if let (Some(to), Some(from)) = (self.regions.get_mut(region), from.regions.get_mut(region))
        {
            to.bytes = std::mem::take(&mut from.bytes);
        }
    }

    /// Returns the total size of all regions, bytes.
    pub fn total(&self) -> usize {
        self.regions.iter().map(|region| region.bytes.len()).sum()
    }

    /// Reads `len` bytes. `None` if any of them is unmapped.
    #[inline]
    pub fn slice(&self, address: u64, len: usize) -> Option<&[u8]> {
        let (region, offset) = place(address);
        let offset = offset as usize;
        self.regions.get(region as usize)?.bytes.get(offset..offset.checked_add(len)?)
    }

    /// Returns `len` bytes for writing, even if they are read-only for policies. `None` if any of
    /// them is unmapped.
    #[inline]
    pub fn slice_mut(&mut self, address: u64, len: usize) -> Option<&mut [u8]> {
        let (region, offset) = place(address);
        let offset = offset as usize;
        self.regions.get_mut(region as usize)?.bytes.get_mut(offset..offset.checked_add(len)?)
    }

    /// Checks that a policy may write these bytes.
    ///
    /// # Errors
    /// The reason why it may not.
    pub fn check_store(&self, address: u64, len: usize) -> Result<(), StoreFault> {
        if self.slice(address, len).is_none() {
            return Err(StoreFault::NoMemory);
        }
        let (number, offset) = place(address);
        let region = &self.regions[number as usize];
        if region.is_writable || self.holes.take(number, offset, len) {
            Ok(())
        } else {
            Err(StoreFault::ReadOnly(region.name.clone()))
        }
    }

    /// Loads 1, 2, 4 or 8 bytes. `None` if any of them is unmapped.
    #[inline]
    pub fn load(&self, address: u64, width: usize) -> Option<u64> {
        let bytes = self.slice(address, width)?;
        Some(match *bytes {
            [a] => u64::from(a),
            [a, b] => u64::from(u16::from_le_bytes([a, b])),
            [a, b, c, d] => u64::from(u32::from_le_bytes([a, b, c, d])),
            [a, b, c, d, e, f, g, h] => u64::from_le_bytes([a, b, c, d, e, f, g, h]),
            _ => return None,
        })
    }

    /// Stores 1, 2, 4 or 8 bytes for a policy.
    ///
    /// # Errors
    /// If they are unmapped or read-only.
    #[inline]
    pub fn store(&mut self, address: u64, width: usize, value: u64) -> Result<(), StoreFault> {
        let (number, start) = place(address);
        let Some(region) = self.regions.get_mut(number as usize) else {
            return Err(StoreFault::NoMemory);
        };
        let offset = start as usize;
        let Some(bytes) = region.bytes.get_mut(offset..offset + width) else {
            return Err(StoreFault::NoMemory);
        };
        if !region.is_writable && !self.holes.take(number, start, width) {
            return Err(StoreFault::ReadOnly(region.name.clone()));
        }
        put(bytes, value);
        Ok(())
    }

    /// Stores 1, 2, 4 or 8 bytes for the class itself, even if they are read-only for policies.
    /// Ignores unmapped addresses.
    #[inline]
    pub fn write(&mut self, address: u64, width: usize, value: u64) {
        if let Some(bytes) = self.slice_mut(address, width) {
            put(bytes, value);
        }
    }

    /// Loads 8 bytes. 0 if they are unmapped.
    #[inline]
    pub fn u64(&self, address: u64) -> u64 {
        self.load(address, 8).unwrap_or(0)
    }

    /// Loads 4 bytes. 0 if they are unmapped.
    #[inline]
    pub fn u32(&self, address: u64) -> u32 {
        self.load(address, 4).unwrap_or(0) as u32
    }

    /// Returns the text from an address to the next zero byte, at most `max` bytes. `None` if the
    /// address is unmapped.
    pub fn text(&self, address: u64, max: usize) -> Option<&[u8]> {
        let (region, offset) = place(address);
        let rest = self.regions.get(region as usize)?.bytes.get(offset as usize..)?;
        if rest.is_empty() {
            return None;
        }
        let rest = &rest[..rest.len().min(max)];
        Some(rest.split(|&byte| byte == 0).next().unwrap_or(rest))
    }
}

#[inline]
fn put(bytes: &mut [u8], value: u64) {
    let all = value.to_le_bytes();
    match bytes {
        [a] => *a = all[0],
        [a, b] => [*a, *b] = [all[0], all[1]],
        bytes if bytes.len() == 4 => bytes.copy_from_slice(&all[..4]),
        bytes if bytes.len() == 8 => bytes.copy_from_slice(&all),
        _ => (),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accesses_stay_within_their_region() {
        let mut memory = Memory::default();
        let data = memory.add(".data", vec![1, 2, 3, 4, 5, 6, 7, 8, 9], true);
        let at = |offset| address(data, offset);
        assert_eq!(memory.load(at(0), 8), Some(0x0807_0605_0403_0201));
        assert_eq!(memory.load(at(1), 2), Some(0x0302));
        assert_eq!(memory.load(at(5), 4), Some(0x0908_0706));
        assert_eq!(memory.load(at(8), 1), Some(9));
        assert_eq!(memory.load(at(2), 8), None, "it would read one byte too many");
        assert_eq!(memory.load(at(u32::MAX), 8), None);
        assert_eq!(memory.load(0, 8), None);
        assert_eq!(memory.load(u64::MAX, 1), None);
        assert_eq!(memory.store(at(1), 4, 0xa1b2_c3d4), Ok(()));
        assert_eq!(memory.slice(at(0), 6), Some(&[1, 0xd4, 0xc3, 0xb2, 0xa1, 6][..]));
        assert_eq!(memory.store(at(9), 1, 0), Err(StoreFault::NoMemory));
        assert_eq!(memory.store(0, 1, 0), Err(StoreFault::NoMemory));
    }

    #[test]
    fn what_is_read_only_is_written_by_the_class_alone() {
        let mut memory = Memory::default();
        let data = memory.add(".rodata", vec![0; 8], false);
        let refused = Err(StoreFault::ReadOnly(".rodata".into()));
        assert_eq!(memory.store(address(data, 0), 8, 7), refused);
        assert_eq!(memory.check_store(address(data, 0), 8), refused);
        memory.write(address(data, 0), 8, 7);
        assert_eq!(memory.u64(address(data, 0)), 7);
    }

    #[test]
    fn some_members_of_what_is_read_only_are_written() {
        let mut memory = Memory::default();
        let tasks = memory.add("tasks", vec![0; 64], false);
        memory.holes = Holes { region: tasks, stride: 32, members: vec![(8, 16)] };
        for (offset, width, is_good) in [
            (8, 8, true),
            (40, 8, true),
            (44, 4, true),
            (12, 8, false),
            (0, 8, false),
            (7, 2, false),
        ] {
            let stored = memory.store(address(tasks, offset), width, 1);
            assert_eq!(stored.is_ok(), is_good, "{width} bytes at {offset}");
        }
    }

    #[test]
    fn text_ends_at_a_zero_or_at_the_limit() {
        let mut memory = Memory::default();
        let data = memory.add(".rodata", b"fork\0x".to_vec(), false);
        assert_eq!(memory.text(address(data, 0), 16), Some(&b"fork"[..]));
        assert_eq!(memory.text(address(data, 0), 2), Some(&b"fo"[..]));
        assert_eq!(memory.text(address(data, 5), 16), Some(&b"x"[..]));
        assert_eq!(memory.text(address(data, 6), 16), None);
    }
}
