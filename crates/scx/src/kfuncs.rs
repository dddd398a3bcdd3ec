//! Kernel functions that policies call. They are found by name and prototype.

mod arena;
mod cpumask;
mod dsq;
mod idle;
mod iterators;
mod nodes;
mod tasks;

use crate::act::Act;
use crate::dynptr;
use crate::vm::Outcome;

/// A kernel function.
#[derive(Debug)]
pub struct Kfunc {
    /// Its name.
    pub name: &'static str,
    /// Number of parameters.
    pub params: usize,
    /// Whether it returns a value.
    pub returns: bool,
    /// Its implementation.
    pub run: fn(&mut Act<'_>, [u64; 5]) -> Outcome,
}

/// Makes a row of the table.
const fn kfunc(
    name: &'static str,
    params: usize,
    returns: bool,
    run: fn(&mut Act<'_>, [u64; 5]) -> Outcome,
) -> Kfunc {
    Kfunc { name, params, returns, run }
}

/// Does nothing: callbacks run one at a time, and each is atomic.
fn nothing(_: &mut Act<'_>, _: [u64; 5]) -> Outcome {
    Ok(0)
}

/// Returns the first argument.
fn itself(_: &mut Act<'_>, args: [u64; 5]) -> Outcome {
    Ok(args[0])
}

/// All kernel functions.
pub static KFUNCS: &[Kfunc] = &[
    kfunc("scx_bpf_create_dsq", 2, true, dsq::create_dsq),
    kfunc("scx_bpf_destroy_dsq", 1, false, dsq::destroy_dsq),
    kfunc("scx_bpf_dsq_insert", 4, false, dsq::dsq_insert),
    kfunc("scx_bpf_dsq_insert_vtime", 5, false, dsq::dsq_insert_vtime),
    kfunc("scx_bpf_dsq_move_to_local", 1, true, dsq::move_to_local),
    kfunc("scx_bpf_dsq_nr_queued", 1, true, dsq::nr_queued),
    kfunc("scx_bpf_dsq_peek", 1, true, dsq::peek),
    kfunc("bpf_iter_scx_dsq_new", 3, true, dsq::iter_new),
    kfunc("bpf_iter_scx_dsq_next", 1, true, dsq::iter_next),
    kfunc("bpf_iter_scx_dsq_destroy", 1, false, dsq::iter_destroy),
    kfunc("scx_bpf_dsq_move", 4, true, dsq::dsq_move),
    kfunc("scx_bpf_dsq_move_vtime", 4, true, dsq::dsq_move_vtime),
    kfunc("scx_bpf_dsq_move_set_slice", 2, false, dsq::move_set_slice),
    kfunc("scx_bpf_dsq_move_set_vtime", 2, false, dsq::move_set_vtime),
    kfunc("scx_bpf_dispatch_nr_slots", 0, true, dsq::nr_slots),
    kfunc("scx_bpf_dispatch_cancel", 0, false, dsq::cancel),
    kfunc("scx_bpf_reenqueue_local", 0, true, dsq::reenqueue_local),
    kfunc("scx_bpf_select_cpu_dfl", 4, true, idle::select_cpu_dfl),
    kfunc("scx_bpf_select_cpu_and", 5, true, idle::select_cpu_and),
    kfunc("scx_bpf_pick_idle_cpu", 2, true, idle::pick_idle_cpu),
    kfunc("scx_bpf_pick_idle_cpu_node", 3, true, idle::pick_idle_cpu_node),
    kfunc("scx_bpf_pick_any_cpu", 2, true, idle::pick_any_cpu),
    kfunc("scx_bpf_pick_any_cpu_node", 3, true, idle::pick_any_cpu_node),
    kfunc("scx_bpf_test_and_clear_cpu_idle", 1, true, idle::test_and_clear_cpu_idle),
    kfunc("scx_bpf_get_idle_cpumask", 0, true, idle::idle_cpumask),
    kfunc("scx_bpf_get_idle_smtmask", 0, true, idle::idle_smtmask),
    kfunc("scx_bpf_get_idle_cpumask_node", 1, true, idle::idle_cpumask_node),
    kfunc("scx_bpf_get_idle_smtmask_node", 1, true, idle::idle_smtmask_node),
    kfunc("scx_bpf_put_idle_cpumask", 1, false, nothing),
    kfunc("scx_bpf_get_online_cpumask", 0, true, idle::online_cpumask),
    kfunc("scx_bpf_get_possible_cpumask", 0, true, idle::possible_cpumask),
    kfunc("scx_bpf_put_cpumask", 1, false, nothing),
    kfunc("scx_bpf_kick_cpu", 2, false, idle::kick_cpu),
    kfunc("scx_bpf_task_running", 1, true, tasks::task_running),
    kfunc("scx_bpf_task_cpu", 1, true, tasks::task_cpu),
    kfunc("scx_bpf_cpu_rq", 1, true, tasks::cpu_rq),
    kfunc("scx_bpf_cpu_curr", 1, true, tasks::cpu_curr),
    kfunc("scx_bpf_locked_rq", 0, true, tasks::locked_rq),
    kfunc("scx_bpf_task_cgroup", 1, true, tasks::task_cgroup),
    kfunc("scx_bpf_task_set_slice", 2, true, tasks::task_set_slice),
    kfunc("scx_bpf_task_set_dsq_vtime", 2, true, tasks::task_set_dsq_vtime),
    kfunc("scx_bpf_now", 0, true, tasks::now),
    kfunc("scx_bpf_nr_cpu_ids", 0, true, tasks::nr_cpu_ids),
    kfunc("scx_bpf_nr_node_ids", 0, true, tasks::nr_node_ids),
    kfunc("scx_bpf_cpu_node", 1, true, tasks::cpu_node),
    kfunc("scx_bpf_cpuperf_cap", 1, true, tasks::cpuperf),
    kfunc("scx_bpf_cpuperf_cur", 1, true, tasks::cpuperf),
    kfunc("scx_bpf_cpuperf_set", 2, false, nothing),
    kfunc("scx_bpf_events", 2, false, tasks::events),
    kfunc("scx_bpf_error_bstr", 3, false, tasks::error_bstr),
    kfunc("scx_bpf_exit_bstr", 4, false, tasks::exit_bstr),
    kfunc("scx_bpf_dump_bstr", 3, false, tasks::dump_bstr),
    kfunc("bpf_task_from_pid", 1, true, tasks::task_from_pid),
    kfunc("bpf_task_acquire", 1, true, itself),
    kfunc("bpf_task_release", 1, false, nothing),
    kfunc("bpf_cgroup_from_id", 1, true, tasks::cgroup_from_id),
    kfunc("bpf_cgroup_ancestor", 2, true, tasks::cgroup_ancestor),
    kfunc("bpf_cgroup_acquire", 1, true, itself),
    kfunc("bpf_cgroup_release", 1, false, nothing),
    kfunc("bpf_rcu_read_lock", 0, false, nothing),
    kfunc("bpf_rcu_read_unlock", 0, false, nothing),
    kfunc("bpf_preempt_disable", 0, false, nothing),
    kfunc("bpf_preempt_enable", 0, false, nothing),
    kfunc("bpf_local_irq_save", 1, false, nothing),
    kfunc("bpf_local_irq_restore", 1, false, nothing),
    kfunc("bpf_iter_num_new", 3, true, tasks::iter_num_new),
    kfunc("bpf_iter_num_next", 1, true, tasks::iter_num_next),
    kfunc("bpf_iter_num_destroy", 1, false, nothing),
    kfunc("bpf_cpumask_create", 0, true, cpumask::create),
    kfunc("bpf_cpumask_acquire", 1, true, cpumask::acquire),
    kfunc("bpf_cpumask_release", 1, false, cpumask::release),
    kfunc("bpf_cpumask_first", 1, true, cpumask::first),
    kfunc("bpf_cpumask_first_zero", 1, true, cpumask::first_zero),
    kfunc("bpf_cpumask_first_and", 2, true, cpumask::first_and),
    kfunc("bpf_cpumask_set_cpu", 2, false, cpumask::set_cpu),
    kfunc("bpf_cpumask_clear_cpu", 2, false, cpumask::clear_cpu),
    kfunc("bpf_cpumask_test_cpu", 2, true, cpumask::test_cpu),
    kfunc("bpf_cpumask_test_and_set_cpu", 2, true, cpumask::set_cpu),
    kfunc("bpf_cpumask_test_and_clear_cpu", 2, true, cpumask::clear_cpu),
    kfunc("bpf_cpumask_setall", 1, false, cpumask::setall),
    kfunc("bpf_cpumask_clear", 1, false, cpumask::clear),
    kfunc("bpf_cpumask_and", 3, true, cpumask::and),
    kfunc("bpf_cpumask_or", 3, false, cpumask::or),
    kfunc("bpf_cpumask_xor", 3, false, cpumask::xor),
    kfunc("bpf_cpumask_equal", 2, true, cpumask::equal),
    kfunc("bpf_cpumask_intersects", 2, true, cpumask::intersects),
    kfunc("bpf_cpumask_subset", 2, true, cpumask::subset),
    kfunc("bpf_cpumask_empty", 1, true, cpumask::empty),
    kfunc("bpf_cpumask_full", 1, true, cpumask::full),
    kfunc("bpf_cpumask_copy", 2, false, cpumask::copy),
    kfunc("bpf_cpumask_any_distribute", 1, true, cpumask::any),
    kfunc("bpf_cpumask_any_and_distribute", 2, true, cpumask::any_and),
    kfunc("bpf_cpumask_weight", 1, true, cpumask::weight),
    kfunc("bpf_arena_alloc_pages", 5, true, arena::alloc_pages),
    kfunc("bpf_arena_free_pages", 3, false, arena::free_pages),
    kfunc("bpf_dynptr_slice", 4, true, dynptr::slice),
    kfunc("bpf_dynptr_slice_rdwr", 4, true, dynptr::slice_rdwr),
    kfunc("bpf_dynptr_size", 1, true, dynptr::size),
    kfunc("bpf_dynptr_is_null", 1, true, dynptr::is_null),
    kfunc("bpf_dynptr_is_rdonly", 1, true, dynptr::is_rdonly),
    kfunc("bpf_iter_css_new", 3, true, iterators::css_new),
    kfunc("bpf_iter_css_next", 1, true, iterators::next),
    kfunc("bpf_iter_css_destroy", 1, false, iterators::destroy),
    kfunc("bpf_iter_task_new", 3, true, iterators::task_new),
    kfunc("bpf_iter_task_next", 1, true, iterators::next),
    kfunc("bpf_iter_task_destroy", 1, false, iterators::destroy),
    kfunc("bpf_obj_new_impl", 2, true, nodes::obj_new),
    kfunc("bpf_obj_drop_impl", 2, false, nodes::obj_drop),
    kfunc("bpf_refcount_acquire_impl", 2, true, nodes::refcount_acquire),
    kfunc("bpf_rbtree_add_impl", 5, true, nodes::rbtree_add),
    kfunc("bpf_rbtree_remove", 2, true, nodes::rbtree_remove),
    kfunc("bpf_rbtree_first", 1, true, nodes::first),
    kfunc("bpf_list_push_front_impl", 4, true, nodes::push_front),
    kfunc("bpf_list_push_back_impl", 4, true, nodes::push_back),
    kfunc("bpf_list_pop_front", 1, true, nodes::pop_front),
    kfunc("bpf_list_pop_back", 1, true, nodes::pop_back),
];

/// Finds the function with this name and shape, as an index into [`KFUNCS`].
pub fn find(name: &str, params: usize, returns: bool) -> Option<usize> {
    KFUNCS
        .iter()
        .position(|known| (known.name, known.params, known.returns) == (name, params, returns))
}

/// Returns the shapes of the functions with this name.
pub fn shapes(name: &str) -> Vec<(usize, bool)> {
    let all = KFUNCS.iter().filter(|known| known.name == name);
    all.map(|known| (known.params, known.returns)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_found_by_name_and_shape() {
        let insert = find("scx_bpf_dsq_insert", 4, false).expect("the function exists");
        assert_eq!(KFUNCS[insert].name, "scx_bpf_dsq_insert");
        assert_eq!(find("scx_bpf_dsq_insert", 4, true), None, "only later kernels have it");
        assert_eq!(find("scx_bpf_dispatch", 4, false), None);
        assert_eq!(shapes("scx_bpf_dsq_insert"), [(4, false)]);
    }

    #[test]
    fn no_function_is_there_twice() {
        for (number, known) in KFUNCS.iter().enumerate() {
            assert_eq!(find(known.name, known.params, known.returns), Some(number));
        }
    }
}
