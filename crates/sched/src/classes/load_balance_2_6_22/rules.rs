//! The rules of this load balancing. Their numbers start at 200, so that they do not collide with
//! the rules of the schedulers that use it.

use schedlab_core::define_rules;

define_rules! {
    /// All rules.
    pub static RULES {
        200 NEWLY_IDLE_BALANCE Migrate "newly_idle_balance":
            "A CPU that is about to idle pulls from the busiest CPU of the smallest domain that \
             has tasks to pull.";
        201 IDLE_REBALANCE Migrate "idle_rebalance":
            "At the tick of an idle CPU the domain's interval is over: the CPU pulls from the \
             busiest CPU.";
        202 BUSY_REBALANCE Migrate "busy_rebalance":
            "At the tick of a busy CPU the domain's interval is over: the CPU pulls from the \
             busiest CPU.";
        203 ACTIVE_BALANCE Migrate "active_balance":
            "The busiest CPU's migration thread pushes a task, as several pulls have failed.";
        204 WAKE_AFFINE_ONE_TASK SelectCpu "wake_affine_one_task":
            "The task wakes on its waker's CPU: both CPUs together have no more load than one \
             task.";
        205 WAKE_AFFINE SelectCpu "wake_affine":
            "The task wakes on its waker's CPU: with it, that CPU has little more load than the \
             task's own.";
        206 WAKE_BALANCE SelectCpu "wake_balance":
            "The task wakes on its waker's CPU, which is in another node with much less load.";
    }
}
