//! Which removed file came back under another name: git's measure (half of the content, counted in hashed lines), with our caps.

use std::collections::HashMap;

use git2::{ObjectType, Oid, Repository};

use super::change::is_binary;
use super::error::{Doing, Error};
use super::git::header;
use super::limits::Limits;
use super::tree::{Delta, Entry};

/// Above this many comparisons only files that are equal to the byte are paired.
const COMPARISONS: usize = 100_000;
/// Likeness is counted in sixty-thousandths, as git does, so that both round alike.
const WHOLE: u64 = 60_000;
const ENOUGH: u64 = WHOLE / 2;
/// Two files that alone carry their name need more, since they are not compared with others.
const ENOUGH_BY_NAME: u64 = ENOUGH + (WHOLE - ENOUGH) / 2;
/// A new file keeps its best few candidates.
const CANDIDATES: usize = 4;

/// Content as counts of hashed lines (or 64-byte pieces), sorted by hash.
struct Signature {
    size: u64,
    counts: Vec<(u32, u64)>,
}

/// Joins removed and added entries that are one renamed file. The old path moves onto the new delta; the removed one goes.
pub(super) fn pair(repository: &Repository, deltas: &mut Vec<Delta>, limits: &Limits) -> Result<(), Error> {
    let mut pairing = Pairing::new(deltas);
    pairing.equal();
    pairing.alike(&mut Signatures::new(repository, limits))?;
    let Pairing { matched, .. } = pairing;
    if matched.is_empty() {
        return Ok(());
    }
    let mut gone = vec![false; deltas.len()];
    for (to, from) in matched {
        gone[from] = true;
        deltas[to].old = deltas[from].old;
        deltas[to].old_path = Some(deltas[from].path.clone());
    }
    let mut gone = gone.into_iter();
    deltas.retain(|_| !gone.next().unwrap_or(false));
    Ok(())
}

struct Pairing<'a> {
    deltas: &'a [Delta],
    /// Indices of removed and of added files that are still alone.
    from: Vec<(usize, Entry)>,
    to: Vec<(usize, Entry)>,
    /// Added index to removed index.
    matched: HashMap<usize, usize>,
}

impl<'a> Pairing<'a> {
    fn new(deltas: &'a [Delta]) -> Self {
        let (mut from, mut to) = (Vec::new(), Vec::new());
        for (index, delta) in deltas.iter().enumerate() {
            match (delta.old, delta.new) {
                (Some(old), None) if !old.is_submodule() => from.push((index, old)),
                (None, Some(new)) if !new.is_submodule() => to.push((index, new)),
                _ => {}
            }
        }
        Self { deltas, from, to, matched: HashMap::new() }
    }

    fn name(&self, index: usize) -> &'a str {
        let path = &self.deltas[index].path;
        path.rsplit_once('/').map_or(path, |(_, name)| name)
    }

    fn join(&mut self, to: usize, from: usize) {
        self.matched.insert(to, from);
        self.from.retain(|(index, _)| *index != from);
        self.to.retain(|(index, _)| *index != to);
    }

    /// Equal content, the same name first.
    fn equal(&mut self) {
        let mut by_content: HashMap<(Oid, bool), Vec<usize>> = HashMap::new();
        for (index, entry) in &self.from {
            by_content.entry((entry.oid, entry.is_link())).or_default().push(*index);
        }
        for (to, entry) in self.to.clone() {
            let Some(same) = by_content.get_mut(&(entry.oid, entry.is_link())) else { continue };
            let place = same.iter().position(|from| self.name(*from) == self.name(to)).unwrap_or(0);
            if place < same.len() {
                let from = same.remove(place);
                self.join(to, from);
            }
        }
    }

    fn alike(&mut self, signatures: &mut Signatures<'_>) -> Result<(), Error> {
        self.from.retain(|(_, entry)| !entry.is_link());
        self.to.retain(|(_, entry)| !entry.is_link());
        self.alone_with_their_name(signatures)?;
        if self.from.is_empty() || self.to.is_empty() || self.from.len() * self.to.len() > COMPARISONS {
            return Ok(());
        }
        let mut all = Vec::new();
        for (to, new) in &self.to {
            let mut best: Vec<(u64, bool, usize, usize)> = Vec::new();
            for (from, old) in &self.from {
                let score = signatures.likeness(*old, *new, ENOUGH)?;
                if score >= ENOUGH {
                    best.push((score, self.name(*from) == self.name(*to), *to, *from));
                }
            }
            best.sort_by_key(|(score, same_name, ..)| std::cmp::Reverse((*score, *same_name)));
            best.truncate(CANDIDATES);
            all.extend(best);
        }
        all.sort_by_key(|(score, same_name, ..)| std::cmp::Reverse((*score, *same_name)));
        for (_, _, to, from) in all {
            let free =
                self.to.iter().any(|(index, _)| *index == to) && self.from.iter().any(|(index, _)| *index == from);
            if free {
                self.join(to, from);
            }
        }
        Ok(())
    }

    /// A name that was removed once and added once has most likely moved folders.
    fn alone_with_their_name(&mut self, signatures: &mut Signatures<'_>) -> Result<(), Error> {
        let (from, to) = (self.only_ones(&self.from), self.only_ones(&self.to));
        for (index, new) in self.to.clone() {
            let name = self.name(index);
            let (Some(Some(_)), Some(Some((old_index, old)))) = (to.get(name), from.get(name)) else { continue };
            if signatures.likeness(*old, new, ENOUGH_BY_NAME)? >= ENOUGH_BY_NAME {
                self.join(index, *old_index);
            }
        }
        Ok(())
    }

    fn only_ones(&self, side: &[(usize, Entry)]) -> HashMap<&'a str, Option<(usize, Entry)>> {
        let mut names = HashMap::new();
        for (index, entry) in side {
            names.entry(self.name(*index)).and_modify(|only| *only = None).or_insert(Some((*index, *entry)));
        }
        names
    }
}

struct Signatures<'a> {
    repository: &'a Repository,
    limits: &'a Limits,
    left: u64,
    known: HashMap<Oid, Option<Signature>>,
    sizes: HashMap<Oid, u64>,
}

impl<'a> Signatures<'a> {
    fn new(repository: &'a Repository, limits: &'a Limits) -> Self {
        Self { repository, limits, left: limits.diff_bytes, known: HashMap::new(), sizes: HashMap::new() }
    }

    /// How much of the larger file stood in the old one. Zero when it cannot reach `least`, or a cap forbids to look.
    fn likeness(&mut self, old: Entry, new: Entry, least: u64) -> Result<u64, Error> {
        let (from, to) = (self.size(old.oid)?, self.size(new.oid)?);
        let (larger, difference) = (from.max(to), from.abs_diff(to));
        if larger == 0 || larger * (WHOLE - least) < difference * WHOLE {
            return Ok(0);
        }
        self.learn(old.oid)?;
        self.learn(new.oid)?;
        let (Some(Some(old)), Some(Some(new))) = (self.known.get(&old.oid), self.known.get(&new.oid)) else {
            return Ok(0);
        };
        Ok(common(&old.counts, &new.counts) * WHOLE / old.size.max(new.size))
    }

    fn size(&mut self, oid: Oid) -> Result<u64, Error> {
        if let Some(size) = self.sizes.get(&oid) {
            return Ok(*size);
        }
        let size = match header(self.repository, oid) {
            Ok((size, ObjectType::Blob)) if size <= self.limits.file_bytes => size,
            Ok(_) => 0,
            Err(error) if error.code() == git2::ErrorCode::NotFound => 0,
            Err(source) => return Err(Error::Git { doing: "reading a file's header", source }),
        };
        self.sizes.insert(oid, size);
        Ok(size)
    }

    fn learn(&mut self, oid: Oid) -> Result<(), Error> {
        if self.known.contains_key(&oid) {
            return Ok(());
        }
        let size = self.size(oid)?;
        let affordable = size > 0 && size <= self.left;
        let signature = if affordable {
            self.left -= size;
            let blob = self.repository.find_blob(oid).doing("reading a file")?;
            Some(Signature { size, counts: counts(blob.content()) })
        } else {
            None
        };
        self.known.insert(oid, signature);
        Ok(())
    }
}

fn counts(bytes: &[u8]) -> Vec<(u32, u64)> {
    const BUCKETS: u32 = 107_927;
    const PIECE: u64 = 64;
    let text = !is_binary(bytes);
    let mut counts: HashMap<u32, u64> = HashMap::new();
    let (mut low, mut high, mut length) = (0_u32, 0_u32, 0_u64);
    let mut bytes = bytes.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        if text && byte == b'\r' && bytes.peek() == Some(&b'\n') {
            continue;
        }
        (low, high) = ((low << 7) ^ (high >> 25), (high << 7) ^ (low >> 25));
        low = low.wrapping_add(u32::from(byte));
        length += 1;
        if length == PIECE || byte == b'\n' || bytes.peek().is_none() {
            *counts.entry(low.wrapping_add(high.wrapping_mul(0x61)) % BUCKETS).or_default() += length;
            (low, high, length) = (0, 0, 0);
        }
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_unstable();
    counts
}

/// Bytes that both have.
fn common(old: &[(u32, u64)], new: &[(u32, u64)]) -> u64 {
    let mut new = new.iter().peekable();
    let mut bytes = 0;
    for (hash, had) in old {
        while new.next_if(|(other, _)| other < hash).is_some() {}
        if let Some((_, has)) = new.next_if(|(other, _)| other == hash) {
            bytes += had.min(has);
        }
    }
    bytes
}
