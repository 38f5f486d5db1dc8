//! What the system says of this process. Linux tells; elsewhere nothing is known.

/// Processor time that it has taken, in seconds.
pub fn cpu_seconds() -> Option<f64> {
    of_stat(&std::fs::read_to_string("/proc/self/stat").ok()?)
}

/// Memory of it that is in RAM.
pub fn resident_bytes() -> Option<u64> {
    field(&std::fs::read_to_string("/proc/self/status").ok()?, "VmRSS:").map(|kib| kib * 1024)
}

/// `utime` and `stime`, the twelfth and thirteenth field after the name, which stands in brackets and may hold anything.
fn of_stat(stat: &str) -> Option<f64> {
    let (_, rest) = stat.rsplit_once(')')?;
    let mut ticks = rest.split_whitespace().skip(11);
    let (user, system): (u32, u32) = (ticks.next()?.parse().ok()?, ticks.next()?.parse().ok()?);
    let per_second = u32::try_from(rustix::param::clock_ticks_per_second()).ok().filter(|ticks| *ticks > 0)?;
    Some((f64::from(user) + f64::from(system)) / f64::from(per_second))
}

/// The first number after a name.
pub fn field(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name)?.split_whitespace().next()?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_processor_time_is_read_behind_any_name() {
        let stat = "42 (odd) 1 2) S 1 42 42 0 -1 4194560 100 0 0 0 250 50 0 0 20 0 1 0 100 1 1";
        let ticks = rustix::param::clock_ticks_per_second();
        assert_eq!(of_stat(stat).map(|s| (s * ticks as f64).round()), Some(300.0));
        assert_eq!(of_stat("nonsense"), None);
    }
}
