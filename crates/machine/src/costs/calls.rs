//! Costs of programs: system calls, copying, processes.

/// CPU time of a program's own calls, ns. It excludes what the scheduler does in them (wakeups,
/// switches).
///
/// The default is the reference machine of the workload specifications: the costs where no machine
/// is given.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CallCosts {
    /// Writing one message of up to 100 bytes into a stream socket, ns.
    pub socket_write_ns: u64,
    /// Reading one message of up to 100 bytes from a stream socket, ns.
    pub socket_read_ns: u64,
    /// Writing one message of up to 100 bytes into a pipe, ns.
    pub pipe_write_ns: u64,
    /// Reading one message of up to 100 bytes from a pipe, ns.
    pub pipe_read_ns: u64,
    /// Copying 1024 bytes beyond those 100 in either direction, ns.
    pub copy_kib_ns: u64,
    /// Additional cost if another CPU wrote the message and its lines come from that CPU's cache,
    /// ns.
    pub message_remote_ns: u64,
    /// Time for which a message, written and read, occupies the memory bus of all CPUs, ns. Other
    /// CPUs wait for that time. It is part of the costs of writing and reading, and adds nothing to
    /// them while the bus is free.
    pub message_bus_ns: u64,
    /// A call on a semaphore or a futex that enters the kernel, ns.
    pub futex_ns: u64,
    /// One attempt at a user-space lock, ns.
    pub try_lock_ns: u64,
    /// Reading the clock, ns.
    pub clock_ns: u64,
    /// `fork(2)`, in the parent's time, ns.
    pub fork_ns: u64,
    /// `execve(2)`, ns.
    pub exec_ns: u64,
    /// `sched_yield(2)`, ns; never 0, or yield loops would stand still.
    pub yield_ns: u64,
    /// Reading 4096 bytes through the page cache, or writing them into it, ns.
    pub block_io_ns: u64,
    /// Reading 1024 bytes of memory that is in the nearest cache, ns.
    pub touch_kib_ns: u64,
}

impl CallCosts {
    /// Calls that cost nothing, as on an idealised machine.
    pub const FREE: CallCosts = CallCosts {
        socket_write_ns: 0,
        socket_read_ns: 0,
        pipe_write_ns: 0,
        pipe_read_ns: 0,
        copy_kib_ns: 0,
        message_remote_ns: 0,
        message_bus_ns: 0,
        futex_ns: 0,
        try_lock_ns: 0,
        clock_ns: 0,
        fork_ns: 0,
        exec_ns: 0,
        yield_ns: 0,
        block_io_ns: 0,
        touch_kib_ns: 0,
    };

    /// Names in files and options, in the order above.
    pub const NAMES: [&'static str; 15] = [
        "socket_write",
        "socket_read",
        "pipe_write",
        "pipe_read",
        "copy_kib",
        "message_remote",
        "message_bus",
        "futex",
        "try_lock",
        "clock",
        "fork",
        "exec",
        "yield",
        "block_io",
        "touch_kib",
    ];

    fn field(&mut self, name: &str) -> Option<&mut u64> {
        match name {
            "socket_write" => Some(&mut self.socket_write_ns),
            "socket_read" => Some(&mut self.socket_read_ns),
            "pipe_write" => Some(&mut self.pipe_write_ns),
            "pipe_read" => Some(&mut self.pipe_read_ns),
            "copy_kib" => Some(&mut self.copy_kib_ns),
            "message_remote" => Some(&mut self.message_remote_ns),
            "message_bus" => Some(&mut self.message_bus_ns),
            "futex" => Some(&mut self.futex_ns),
            "try_lock" => Some(&mut self.try_lock_ns),
            "clock" => Some(&mut self.clock_ns),
            "fork" => Some(&mut self.fork_ns),
            "exec" => Some(&mut self.exec_ns),
            "yield" => Some(&mut self.yield_ns),
            "block_io" => Some(&mut self.block_io_ns),
            "touch_kib" => Some(&mut self.touch_kib_ns),
            _ => None,
        }
    }

    /// Sets a cost by name, ns; fractions are rounded.
    ///
    /// # Errors
    /// If the name does not exist, or a yield would cost nothing.
    pub fn set(&mut self, name: &str, ns: f64) -> Result<(), String> {
        let ps = super::kernel::picoseconds(ns)?;
        let names = CallCosts::NAMES.join(", ");
        let field = self
            .field(name)
            .ok_or_else(|| format!("there is no call {name}; the calls are {names}"))?;
        if name == "yield" && ps < 500 {
            return Err("a yield must cost something, or yield loops would stand still".into());
        }
        *field = (ps + 500) / 1000;
        Ok(())
    }

    /// Returns a cost by name, ns.
    pub fn get(mut self, name: &str) -> Option<u64> {
        self.field(name).copied()
    }
}

impl Default for CallCosts {
    fn default() -> CallCosts {
        CallCosts {
            socket_write_ns: 1_700,
            socket_read_ns: 1_700,
            pipe_write_ns: 1_000,
            pipe_read_ns: 1_000,
            copy_kib_ns: 0,
            message_remote_ns: 0,
            message_bus_ns: 0,
            futex_ns: 0,
            try_lock_ns: 100,
            clock_ns: 0,
            fork_ns: 150_000,
            exec_ns: 400_000,
            yield_ns: 500,
            block_io_ns: 4_000,
            touch_kib_ns: 128,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_yield_costs_a_nanosecond_at_least() {
        let mut costs = CallCosts::default();
        for ns in [0.0, 0.4] {
            assert!(costs.set("yield", ns).is_err(), "{ns}");
        }
        for (ns, rounded) in [(0.5, 1), (1.4, 1), (1.5, 2)] {
            costs.set("yield", ns).expect("the cost is not zero");
            assert_eq!(costs.get("yield"), Some(rounded));
        }
        // Other calls may be free.
        costs.set("clock", 0.0).expect("a clock may be free");
        assert_eq!(costs.get("clock"), Some(0));
        assert!(costs.set("no_such", 1.0).is_err());
    }
}
