//! tar, as it is or in gzip. Headers are read one by one: what a header says of the next one is held within a small bound.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::rc::Rc;

use flate2::bufread::MultiGzDecoder;
use tar::{Archive, EntryType, Header, PaxExtensions};

use super::sink::Sink;
use super::{Refusal, UnpackLimits};

const BLOCK: u64 = 512;
/// Bytes of one extended header: a few names.
const MAX_EXTENDED: u64 = 64 << 10;
/// Extended headers before one entry.
const MAX_HEADERS: usize = 4;
/// How keys of sparse files begin.
const SPARSE: &[u8] = b"GNU.sparse.";
const UNREADABLE: &str = "what it says of other entries cannot be read";

pub(super) fn bomb(ratio: u64) -> String {
    format!("more than {ratio} bytes come out for each one that went in")
}

/// Whether a first block is a header: its sum is right.
pub(super) fn is_header(block: &[u8]) -> bool {
    let Ok(block) = <&[u8; 512]>::try_from(block) else { return false };
    let sum = |bytes: &[u8]| bytes.iter().map(|byte| u32::from(*byte)).sum::<u32>();
    let header = Header::from_byte_slice(block);
    // The field itself counts as eight spaces.
    header.cksum().is_ok_and(|said| said == sum(&block[..148]) + 8 * u32::from(b' ') + sum(&block[156..]))
}

pub(super) fn unpack(file: File, sink: &mut Sink<'_>) -> Result<(), Refusal> {
    read(BufReader::new(file), sink)
}

pub(super) fn unpack_gzip(file: File, limits: &UnpackLimits, sink: &mut Sink<'_>) -> Result<(), Refusal> {
    let packed = Rc::new(Cell::new(0));
    let source = Counted { inner: file, count: Rc::clone(&packed) };
    let inner = MultiGzDecoder::new(BufReader::new(source));
    read(Thrifty { inner, out: 0, packed, limits }, sink)
}

fn read(source: impl Read, sink: &mut Sink<'_>) -> Result<(), Refusal> {
    let position = Rc::new(Cell::new(0));
    let mut archive = Archive::new(Counted { inner: source, count: Rc::clone(&position) });
    let damaged = |error: io::Error| passed(error, None);
    let mut told = Told::default();
    let (mut any, mut next) = (false, 0);
    for entry in archive.entries().map_err(damaged)?.raw(true) {
        let mut entry = entry.map_err(damaged)?;
        sink.go_on()?;
        any = true;
        let (size, kind) = (entry.size(), entry.header().entry_type());
        next = entry.raw_file_position().saturating_add(size.div_ceil(BLOCK).saturating_mul(BLOCK));
        let own = entry.header().path_bytes().into_owned();
        if matches!(
            kind,
            EntryType::XHeader | EntryType::XGlobalHeader | EntryType::GNULongName | EntryType::GNULongLink
        ) {
            if size > MAX_EXTENDED {
                return Err(Refusal::entry(&own, "what it says of the next entry is too long"));
            }
            let mut text = Vec::new();
            entry.read_to_end(&mut text).map_err(|error| passed(error, Some(&own)))?;
            told.take(kind, &text).map_err(|why| Refusal::entry(&own, why))?;
            continue;
        }
        let name = told.name.unwrap_or(own);
        let refuse = |why: &str| Err(Refusal::entry(&name, why));
        match kind {
            EntryType::Directory => sink.folder(&name)?,
            EntryType::Regular if name.ends_with(b"/") && size == 0 => sink.folder(&name)?,
            EntryType::Regular => {
                if told.size.is_some_and(|said| said != size) {
                    return refuse("its two sizes differ");
                }
                sink.file(&name, &mut entry, size, None)?;
            }
            EntryType::Symlink => return refuse("it is a symbolic link"),
            EntryType::Link => return refuse("it is a hard link"),
            EntryType::Char | EntryType::Block => return refuse("it is a device"),
            EntryType::Fifo => return refuse("it is a pipe"),
            EntryType::GNUSparse => return refuse("it is a sparse file"),
            _ => return refuse("it is neither a file nor a folder"),
        }
        told = Told::default();
    }
    if told.headers > 0 {
        return Err(Refusal::archive("it is damaged: its last header speaks of an entry that is not there"));
    }
    // A block of zeros was read where the next header would stand: else it was cut off between two entries.
    if any && position.get() == next {
        return Err(Refusal::archive("it ends in the middle of something"));
    }
    let mut rest = archive.into_inner();
    let mut piece = vec![0; 64 << 10];
    loop {
        sink.go_on()?;
        match rest.read(&mut piece) {
            Ok(0) => return Ok(()),
            Ok(read) if piece[..read].iter().all(|byte| *byte == 0) => {}
            Ok(_) => return Err(Refusal::archive("it is damaged: something stands behind its end")),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(damaged(error)),
        }
    }
}

fn passed(error: io::Error, entry: Option<&[u8]>) -> Refusal {
    match error.downcast::<Refusal>() {
        Ok(refusal) => refusal,
        Err(error) => Refusal::reading(&error, entry),
    }
}

/// What extended headers say of the entry that follows.
#[derive(Default)]
struct Told {
    headers: usize,
    name: Option<Vec<u8>>,
    size: Option<u64>,
}

impl Told {
    fn take(&mut self, kind: EntryType, text: &[u8]) -> Result<(), &'static str> {
        if kind == EntryType::XGlobalHeader {
            for pair in PaxExtensions::new(text) {
                let key = pair.map_err(|_| UNREADABLE)?.key_bytes().to_owned();
                if key == b"path" || key == b"size" || key.starts_with(SPARSE) {
                    return Err("it names or measures all entries at once");
                }
            }
            return Ok(());
        }
        self.headers += 1;
        if self.headers > MAX_HEADERS {
            return Err("too many headers speak of the next entry");
        }
        match kind {
            EntryType::GNULongName => self.call(text.strip_suffix(b"\0").unwrap_or(text)),
            EntryType::XHeader => {
                for pair in PaxExtensions::new(text) {
                    let pair = pair.map_err(|_| UNREADABLE)?;
                    match pair.key_bytes() {
                        b"path" => self.call(pair.value_bytes())?,
                        b"size" => {
                            let size = pair.value().ok().and_then(|size| size.parse().ok());
                            self.size = Some(size.ok_or("the size that it tells cannot be read")?);
                        }
                        key if key.starts_with(SPARSE) => return Err("the next entry is a sparse file"),
                        _ => {}
                    }
                }
                Ok(())
            }
            // Where a link leads; links are refused themselves.
            _ => Ok(()),
        }
    }

    /// Readers differ in which of two names they take.
    fn call(&mut self, name: &[u8]) -> Result<(), &'static str> {
        match self.name.replace(name.to_owned()) {
            Some(before) if before != name => Err("the next entry has two names"),
            _ => Ok(()),
        }
    }
}

/// Counts what is read.
struct Counted<R> {
    inner: R,
    count: Rc<Cell<u64>>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(into)?;
        self.count.set(self.count.get() + read as u64);
        Ok(read)
    }
}

/// Gives out no more than the ratio allows for what was put in, and in all no more than twice what may be written: headers and
/// what is left out take time too.
struct Thrifty<'a, R> {
    inner: R,
    out: u64,
    packed: Rc<Cell<u64>>,
    limits: &'a UnpackLimits,
}

impl<R: Read> Read for Thrifty<'_, R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let UnpackLimits { ratio, ratio_from, bytes, .. } = *self.limits;
        let read = self.inner.read(into)?;
        self.out += read as u64;
        if self.out > ratio_from && self.out / ratio > self.packed.get() {
            return Err(io::Error::other(Refusal::archive(bomb(ratio))));
        }
        if self.out / 2 > bytes.max(ratio_from) {
            return Err(io::Error::other(Refusal::TooLarge(bytes)));
        }
        Ok(read)
    }
}
