//! The rules of this load balancing. Their numbers start at 200, so that they do not collide with
//! the rules of the schedulers that use it.

use schedlab_core::define_rules;

define_rules! {
    /// All rules.
    pub static RULES {
        200 NEWLY_IDLE_BALANCE Migrate "newly_idle_balance":
            "A CPU that is about to idle pulls from the busiest CPU of its smallest domain that \
             has anything.";
        201 IDLE_REBALANCE Migrate "idle_rebalance":
            "An idle CPU's tick finds the domain's interval over and pulls from the busiest CPU.";
        202 BUSY_REBALANCE Migrate "busy_rebalance":
            "A busy CPU's tick finds the domain's interval over and pulls from the busiest CPU.";
        203 ACTIVE_BALANCE Migrate "active_balance":
            "The busiest CPU's migration thread pushes a task, as pulls have failed again and \
             again.";
        204 WAKE_AFFINE_ONE_TASK SelectCpu "wake_affine_one_task":
            "The task wakes on its waker's CPU: both CPUs together have no more load than one \
             task.";
        205 WAKE_AFFINE SelectCpu "wake_affine":
            "The task wakes on its waker's CPU: with it that CPU has not much more load than the \
             task's own.";
        206 WAKE_BALANCE SelectCpu "wake_balance":
            "The task wakes on its waker's CPU in another node, which has much less load.";
    }
}
