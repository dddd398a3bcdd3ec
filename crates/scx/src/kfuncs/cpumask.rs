//! CPU masks.

use crate::act::Act;
use crate::memory::{self, place};
use crate::vm::{Fault, Outcome};

fn words(act: &Act<'_>) -> u32 {
    act.w.image.types.mask_words()
}

/// Reads a word of a mask, without the bits of CPUs that the machine lacks.
fn word(act: &Act<'_>, mask: u64, index: u32) -> u64 {
    let cpus = act.w.nr_cpus();
    let left = cpus - (index * 64).min(cpus);
    let there = if left >= 64 { u64::MAX } else { (1 << left) - 1 };
    act.w.vm.memory.u64(mask + u64::from(index) * 8) & there
}

fn write(act: &mut Act<'_>, mask: u64, index: u32, value: u64) -> Result<(), Box<Fault>> {
    own(act, mask)?;
    act.w.vm.memory.write(mask + u64::from(index) * 8, 8, value);
    Ok(())
}

/// Returns the number of a mask that the policy created.
///
/// # Errors
/// If the policy did not create it, or it is not a mask.
fn own(act: &Act<'_>, mask: u64) -> Result<usize, Box<Fault>> {
    let (region, offset) = place(mask);
    let stride = words(act) * 8;
    let number = (offset / stride).checked_sub(act.w.first_mask()).map(|number| number as usize);
    let refs = number.and_then(|number| act.w.mask_refs.get(number)).copied().unwrap_or(0);
    match number {
        Some(number) if region == memory::MASKS && offset % stride == 0 && refs > 0 => Ok(number),
        _ => Err(Fault::new(format!("{mask:#x} is not a mask that the policy created"))),
    }
}

/// Returns the lowest CPU for which `is_in` holds, or the number of CPUs.
fn lowest(act: &Act<'_>, is_in: impl Fn(u32) -> bool) -> u64 {
    let cpus = act.w.nr_cpus();
    u64::from((0..cpus).find(|&cpu| is_in(cpu)).unwrap_or(cpus))
}

pub(super) fn create(act: &mut Act<'_>, _: [u64; 5]) -> Outcome {
    let number = match act.w.mask_free.pop() {
        Some(number) => number as usize,
        None => {
            act.w.mask_refs.push(0);
            act.w.mask_refs.len() - 1
        }
    };
    act.w.mask_refs[number] = 1;
    let first = act.w.first_mask();
    let at = act.w.mask(first + number as u32);
    let size = (words(act) * 8) as usize;
    act.w.vm.memory.grow(memory::MASKS, (first as usize + number + 1) * size);
    for index in 0..words(act) {
        write(act, at, index, 0)?;
    }
    Ok(at)
}

pub(super) fn acquire(act: &mut Act<'_>, [mask, ..]: [u64; 5]) -> Outcome {
    let number = own(act, mask)?;
    act.w.mask_refs[number] = act.w.mask_refs[number].saturating_add(1);
    Ok(mask)
}

pub(super) fn release(act: &mut Act<'_>, [mask, ..]: [u64; 5]) -> Outcome {
    let number = own(act, mask)?;
    act.w.mask_refs[number] -= 1;
    if act.w.mask_refs[number] == 0 {
        act.w.mask_free.push(number as u32);
    }
    Ok(0)
}

pub(super) fn first(act: &mut Act<'_>, [mask, ..]: [u64; 5]) -> Outcome {
    Ok(lowest(act, |cpu| act.w.mask_has(mask, cpu)))
}

pub(super) fn first_zero(act: &mut Act<'_>, [mask, ..]: [u64; 5]) -> Outcome {
    Ok(lowest(act, |cpu| !act.w.mask_has(mask, cpu)))
}

pub(super) fn first_and(act: &mut Act<'_>, [a, b, ..]: [u64; 5]) -> Outcome {
    Ok(lowest(act, |cpu| act.w.mask_has(a, cpu) && act.w.mask_has(b, cpu)))
}

/// Sets or clears a bit. Returns its old value.
fn change(act: &mut Act<'_>, number: u64, mask: u64, is_set: bool) -> Outcome {
    let cpu = number as u32;
    // The kernel ignores CPUs that the machine lacks.
    if cpu >= act.w.nr_cpus() {
        return Ok(0);
    }
    let was = act.w.mask_has(mask, cpu);
    let bit = 1 << (cpu % 64);
    let old = word(act, mask, cpu / 64);
    write(act, mask, cpu / 64, if is_set { old | bit } else { old & !bit })?;
    Ok(u64::from(was))
}

pub(super) fn set_cpu(act: &mut Act<'_>, [cpu, mask, ..]: [u64; 5]) -> Outcome {
    change(act, cpu, mask, true)
}

pub(super) fn clear_cpu(act: &mut Act<'_>, [cpu, mask, ..]: [u64; 5]) -> Outcome {
    change(act, cpu, mask, false)
}

pub(super) fn test_cpu(act: &mut Act<'_>, [cpu, mask, ..]: [u64; 5]) -> Outcome {
    Ok(u64::from(act.w.mask_has(mask, cpu as u32)))
}

pub(super) fn setall(act: &mut Act<'_>, [mask, ..]: [u64; 5]) -> Outcome {
    for index in 0..words(act) {
        let all = word(act, act.w.mask(crate::cpu::MASK_POSSIBLE), index);
        write(act, mask, index, all)?;
    }
    Ok(0)
}

pub(super) fn clear(act: &mut Act<'_>, [mask, ..]: [u64; 5]) -> Outcome {
    for index in 0..words(act) {
        write(act, mask, index, 0)?;
    }
    Ok(0)
}

/// Combines two masks into a third. Returns whether the result is not empty.
fn combine(act: &mut Act<'_>, [to, a, b, ..]: [u64; 5], how: fn(u64, u64) -> u64) -> Outcome {
    let mut any = 0;
    for index in 0..words(act) {
        let value = how(word(act, a, index), word(act, b, index));
        write(act, to, index, value)?;
        any |= value;
    }
    Ok(u64::from(any != 0))
}

pub(super) fn and(act: &mut Act<'_>, args: [u64; 5]) -> Outcome {
    combine(act, args, |a, b| a & b)
}

pub(super) fn or(act: &mut Act<'_>, args: [u64; 5]) -> Outcome {
    combine(act, args, |a, b| a | b)
}

pub(super) fn xor(act: &mut Act<'_>, args: [u64; 5]) -> Outcome {
    combine(act, args, |a, b| a ^ b)
}

pub(super) fn copy(act: &mut Act<'_>, [to, from, ..]: [u64; 5]) -> Outcome {
    combine(act, [to, from, from, 0, 0], |a, _| a)
}

/// Whether a condition holds for every pair of words.
fn all(act: &Act<'_>, a: u64, b: u64, holds: fn(u64, u64) -> bool) -> Outcome {
    Ok(u64::from((0..words(act)).all(|index| holds(word(act, a, index), word(act, b, index)))))
}

pub(super) fn equal(act: &mut Act<'_>, [a, b, ..]: [u64; 5]) -> Outcome {
    all(act, a, b, |a, b| a == b)
}

pub(super) fn intersects(act: &mut Act<'_>, [a, b, ..]: [u64; 5]) -> Outcome {
    Ok(all(act, a, b, |a, b| a & b == 0)? ^ 1)
}

pub(super) fn subset(act: &mut Act<'_>, [a, b, ..]: [u64; 5]) -> Outcome {
    all(act, a, b, |a, b| a & !b == 0)
}

pub(super) fn empty(act: &mut Act<'_>, [mask, ..]: [u64; 5]) -> Outcome {
    all(act, mask, mask, |a, _| a == 0)
}

pub(super) fn full(act: &mut Act<'_>, [mask, ..]: [u64; 5]) -> Outcome {
    all(act, mask, act.w.mask(crate::cpu::MASK_POSSIBLE), |a, b| a == b)
}

pub(super) fn any(act: &mut Act<'_>, [mask, ..]: [u64; 5]) -> Outcome {
    any_and(act, [mask, mask, 0, 0, 0])
}

pub(super) fn any_and(act: &mut Act<'_>, [a, b, ..]: [u64; 5]) -> Outcome {
    let found = act.distribute(|act, cpu| act.w.mask_has(a, cpu) && act.w.mask_has(b, cpu));
    Ok(u64::from(found.unwrap_or(act.w.nr_cpus())))
}

pub(super) fn weight(act: &mut Act<'_>, [mask, ..]: [u64; 5]) -> Outcome {
    let count: u32 = (0..words(act)).map(|index| word(act, mask, index).count_ones()).sum();
    Ok(u64::from(count))
}

#[cfg(test)]
mod tests {
    use super::super::idle;
    use super::*;
    use crate::testing::world;

    #[test]
    fn masks_are_made_changed_and_compared() {
        let (mut w, mut p) = world(70);
        let mut act = Act { w: &mut w, p: &mut p };
        let act = &mut act;
        let a = create(act, [0; 5]).expect("a mask is created or found");
        let b = create(act, [0; 5]).expect("a mask is created or found");
        assert_eq!(first(act, [a, 0, 0, 0, 0]), Ok(70), "it is empty");
        for cpu in [3, 69] {
            assert_eq!(set_cpu(act, [cpu, a, 0, 0, 0]), Ok(0));
        }
        assert_eq!(set_cpu(act, [70, a, 0, 0, 0]), Ok(0), "there is no such CPU");
        assert_eq!(weight(act, [a, 0, 0, 0, 0]), Ok(2));
        assert_eq!(clear_cpu(act, [3, a, 0, 0, 0]), Ok(1));
        assert_eq!(first(act, [a, 0, 0, 0, 0]), Ok(69));
        assert_eq!(setall(act, [b, 0, 0, 0, 0]), Ok(0));
        assert_eq!(full(act, [b, 0, 0, 0, 0]), Ok(1));
        assert_eq!(subset(act, [a, b, 0, 0, 0]), Ok(1));
        assert_eq!(subset(act, [b, a, 0, 0, 0]), Ok(0));
        assert_eq!(intersects(act, [a, b, 0, 0, 0]), Ok(1));
        assert_eq!(xor(act, [b, a, b, 0, 0]), Ok(1));
        assert_eq!(first_zero(act, [b, 0, 0, 0, 0]), Ok(69));
        assert_eq!(and(act, [b, a, b, 0, 0]), Ok(0), "nothing is left");
        assert_eq!(empty(act, [b, 0, 0, 0, 0]), Ok(1));
    }

    #[test]
    fn masks_are_given_back_and_the_classs_own_are_not_written() {
        let (mut w, mut p) = world(4);
        let mut act = Act { w: &mut w, p: &mut p };
        let act = &mut act;
        let a = create(act, [0; 5]).expect("a mask is created or found");
        assert_eq!(acquire(act, [a, 0, 0, 0, 0]), Ok(a));
        assert_eq!(release(act, [a, 0, 0, 0, 0]), Ok(0));
        assert_eq!(release(act, [a, 0, 0, 0, 0]), Ok(0));
        assert!(release(act, [a, 0, 0, 0, 0]).is_err(), "once too often");
        assert_eq!(create(act, [0; 5]), Ok(a), "it is used again");
        let idle = idle::idle_cpumask(act, [0; 5]).expect("a mask is created or found");
        assert!(set_cpu(act, [1, idle, 0, 0, 0]).is_err());
    }

    #[test]
    fn choices_are_spread() {
        let (mut w, mut p) = world(4);
        let mut act = Act { w: &mut w, p: &mut p };
        let act = &mut act;
        let a = create(act, [0; 5]).expect("a mask is created or found");
        assert_eq!(any(act, [a, 0, 0, 0, 0]), Ok(4), "it is empty");
        for cpu in [0, 2, 3] {
            assert_eq!(set_cpu(act, [cpu, a, 0, 0, 0]), Ok(0));
        }
        let chosen = [0; 4].map(|_| any(act, [a, 0, 0, 0, 0]).expect("the mask is not empty"));
        assert_eq!(chosen, [2, 3, 0, 2]);
    }
}
