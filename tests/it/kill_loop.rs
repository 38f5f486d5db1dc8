//! The kill loop: people act, the real binary is killed at random and at named points, starts again on the same state, and
//! in the end nothing that was acknowledged is lost and no effect stands twice.
//!
//! `KILL_CYCLES` says how many cycles (50), `KILL_SEED` which ones (drawn and printed otherwise). In full:
//! `KILL_CYCLES=500 cargo test --test it kill_loop -- --nocapture`.
#![allow(clippy::print_stdout, reason = "the figures are the point")]

mod facts;
mod lane;
mod point;
mod post;
mod rows;
mod server;
mod wire;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use futures::future::join_all;
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng, rngs::StdRng};
use tokio_util::sync::CancellationToken;

use lane::{Lane, Measured};
use point::Point;

/// The promise is 5 s; a lease runs for 60. What frees it at the start stays far below this on the busiest machine, and
/// what waits for it to run out never does.
const RECOVERY_BAR: i64 = 20_000;
/// The promise itself, which nearly all have to keep.
const PROMISE: i64 = 5_000;
/// So many lives go on at the same time: most of their time they wait.
const LANES: usize = 3;
/// So many cycles on one box and one state.
const LIFE: usize = 13;

/// What went wrong, with all that is needed to look into it.
struct Broken {
    seed: u64,
    cycle: usize,
    point: &'static str,
    story: Vec<String>,
    problems: Vec<String>,
    folder: String,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn however_often_the_server_is_killed_nothing_acknowledged_is_lost_and_no_effect_stands_twice() {
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
    let seed = number("KILL_SEED").unwrap_or_else(|| rand::rng().random_range(0..1_000_000));
    let cycles = usize::try_from(number("KILL_CYCLES").unwrap_or(50)).unwrap();
    println!("the kill loop: {cycles} cycles, KILL_SEED={seed}");
    let began = Instant::now();

    let plan = Arc::new(plan(seed, cycles));
    let (lives, stop) = (Arc::new(AtomicUsize::new(0)), CancellationToken::new());
    let lanes = (0..LANES).map(|_| {
        let (plan, lives, stop) = (plan.clone(), lives.clone(), stop.clone());
        tokio::spawn(async move {
            let mut measured = Measured::default();
            loop {
                let first = lives.fetch_add(1, Ordering::SeqCst) * LIFE;
                let part = plan.get(first..plan.len().min(first + LIFE)).unwrap_or_default();
                if part.is_empty() || stop.is_cancelled() {
                    return Ok(measured);
                }
                match live(seed, first, part, &stop).await {
                    Ok(of_life) => measured.add(of_life),
                    Err(broken) => {
                        // The others need not go on.
                        stop.cancel();
                        return Err(broken);
                    }
                }
            }
        })
    });
    let mut measured = Measured::default();
    let mut all_broken = Vec::new();
    for ended in join_all(lanes).await {
        match ended.unwrap() {
            Ok(of_lane) => measured.add(of_lane),
            Err(broken) => all_broken.push(broken),
        }
    }
    report(&mut measured, began);
    for broken in &all_broken {
        println!("\nKILL_SEED={} cycle {}, `{}`:", broken.seed, broken.cycle, broken.point);
        broken.story.iter().for_each(|line| println!("    {line}"));
        println!("  what is wrong:");
        broken.problems.iter().for_each(|line| println!("    {line}"));
        println!("  the state and the server's log are kept in {}", broken.folder);
    }
    assert!(all_broken.is_empty(), "{} of the lanes broke; KILL_SEED={seed}", all_broken.len());
    assert_eq!(measured.cycles, cycles);
    let nearly_all = at(&measured.from_listening, 95);
    assert!(nearly_all <= PROMISE, "the 95th of a hundred jobs moves again after {nearly_all} ms; KILL_SEED={seed}");
    if cycles >= point::ALL.len() {
        let struck = |point: &Point| measured.points.get(point.name).is_some_and(|(struck, _)| *struck > 0);
        let never: Vec<_> = point::ALL.iter().filter(|point| point.is_certain() && !struck(point)).collect();
        assert!(never.is_empty(), "points that were never struck: {never:?}; KILL_SEED={seed}");
    }
}

/// Of times in their order.
fn at(times: &[i64], part: usize) -> i64 {
    times.get((times.len().saturating_sub(1)) * part / 100).copied().unwrap_or_default()
}

/// Every point comes as often as any other, in an order of this seed.
fn plan(seed: u64, cycles: usize) -> Vec<&'static Point> {
    let mut rng = StdRng::seed_from_u64(seed);
    let mut plan = Vec::new();
    while plan.len() < cycles {
        let mut deck: Vec<&Point> = point::ALL.iter().collect();
        deck.shuffle(&mut rng);
        plan.extend(deck);
    }
    plan.truncate(cycles);
    plan
}

async fn live(seed: u64, first: usize, part: &[&'static Point], stop: &CancellationToken) -> Result<Measured, Broken> {
    let mut lane = Lane::begin().await;
    let mut at = (first, "the first start");
    let mut ended = lane.first_start().await;
    for (cycle, point) in (first..).zip(part) {
        if ended.is_err() || stop.is_cancelled() {
            break;
        }
        at = (cycle, point.name);
        ended = lane.cycle(seed.wrapping_mul(1_000_003).wrapping_add(cycle as u64), point).await;
    }
    if ended.is_ok() && !stop.is_cancelled() {
        at.1 = "the end of a life";
        ended = lane.end().await;
    }
    match ended {
        Ok(()) => Ok(std::mem::take(&mut lane.measured)),
        Err(problems) => {
            let (story, folder) = lane.keep();
            let (cycle, point) = at;
            Err(Broken { seed, cycle, point, story, problems, folder: folder.display().to_string() })
        }
    }
}

fn report(measured: &mut Measured, began: Instant) {
    let spread = |times: &mut Vec<i64>| {
        times.sort_unstable();
        let at = |part| at(times, part);
        format!("median {} ms, 95th of a hundred {} ms, max {} ms", at(50), at(95), at(100))
    };
    println!(
        "{} cycles in {:.1} s: {} acts, {} kills, {} jobs interrupted, {} deliveries acknowledged",
        measured.cycles,
        began.elapsed().as_secs_f64(),
        measured.acts,
        measured.kills,
        measured.interrupted,
        measured.acked
    );
    println!("an interrupted job moves again after (promised: 5000 ms): {}", spread(&mut measured.recovery));
    println!("  counted from when the server listens: {}", spread(&mut measured.from_listening));
    println!("the server listens after: {}", spread(&mut measured.boot));
    for (name, (struck, missed)) in &measured.points {
        println!("  {name}: {struck}{}", if *missed > 0 { format!(", missed {missed}") } else { String::new() });
    }
}
