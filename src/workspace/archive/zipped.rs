//! zip: its directory is bounded before it is read, and has to agree with what stands before each entry.

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};

use zip::read::{ArchiveOffset, Config};
use zip::result::ZipError;
use zip::{CompressionMethod, ZipArchive};

use super::sink::Sink;
use super::{Refusal, UnpackLimits};

/// Bytes of the directory: it is held whole, several times over.
const MAX_DIRECTORY: u64 = 32 << 20;
/// The end record without its comment, which has at most `u16::MAX` bytes.
const END: usize = 22;
/// The locator of the zip64 end record, and that record itself.
const LOCATOR: usize = 20;
const END64: u64 = 56;

pub(super) fn unpack(mut file: File, limits: &UnpackLimits, sink: &mut Sink<'_>) -> Result<(), Refusal> {
    let length = file.metadata()?.len();
    check_end(&mut file, length, limits.entries)?;
    let config = Config { archive_offset: ArchiveOffset::Known(0) };
    let mut archive = ZipArchive::with_config(config, BufReader::new(file)).map_err(|error| whole(&error))?;
    // Also finds entries that share bytes, and files that the directory does not list.
    archive.validate_header_consistency().map_err(|error| whole(&error))?;
    let mut out = 0_u64;
    for index in 0..archive.len() {
        sink.go_on()?;
        let (name, size, packed, folder) = {
            let entry = archive.by_index_data(index).map_err(|error| whole(&error))?;
            let name = entry.name_raw().to_vec();
            let refuse = |why: &str| Err(Refusal::entry(&name, why));
            if entry.encrypted() {
                return refuse("it is encrypted");
            }
            const KIND: u32 = 0o170_000;
            let kind = entry.unix_mode().unwrap_or_default() & KIND;
            let folder = name.ends_with(b"/");
            match kind {
                0 => {}
                0o100_000 if !folder => {}
                0o040_000 if folder => {}
                0o120_000 => return refuse("it is a symbolic link"),
                _ => return refuse("it is neither a file nor a folder"),
            }
            if !matches!(entry.compression(), CompressionMethod::Stored | CompressionMethod::Deflated) {
                return refuse("it is compressed in a way that is not read here: use deflate");
            }
            if folder && entry.size() > 0 {
                return refuse("it is a folder with content");
            }
            (name, entry.size(), entry.compressed_size(), folder)
        };
        if folder {
            sink.folder(&name)?;
            continue;
        }
        out = out.saturating_add(size);
        if out > limits.ratio_from && out / limits.ratio > length {
            return Err(Refusal::archive(super::tarred::bomb(limits.ratio)));
        }
        let mut content = archive.by_index(index).map_err(|error| of_entry(&name, &error))?;
        // One more than it says shows that it says too little.
        sink.file(&name, &mut content.by_ref().take(size.saturating_add(1)), size, Some(packed))?;
    }
    Ok(())
}

/// The last record of the file tells where the directory is and how much stands there. It has to be the file's very end, and the
/// directory to end where it begins: then every reader means the same one.
fn check_end(file: &mut File, length: u64, most: usize) -> Result<(), Refusal> {
    let tail = length.min((LOCATOR + END + usize::from(u16::MAX)) as u64);
    let start = length - tail;
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(start))?;
    file.by_ref().take(tail).read_to_end(&mut bytes)?;
    let at = bytes.windows(4).rposition(|four| four == b"PK\x05\x06");
    let cut = || Refusal::archive("it is damaged: its directory is missing, as when it was cut off");
    let at = at.filter(|at| bytes.len() - at >= END).ok_or_else(cut)?;
    let end = &bytes[at..];
    let comment = usize::from(u16_at(end, 20));
    if end.len() != END + comment {
        return Err(Refusal::archive("it is damaged: something stands behind its end"));
    }
    let (disk, directory_disk) = (u16_at(end, 4), u16_at(end, 6));
    let mut here = u64::from(u16_at(end, 8));
    let mut entries = u64::from(u16_at(end, 10));
    let mut size = u64::from(u32_at(end, 12));
    let mut offset = u64::from(u32_at(end, 16));
    let mut ends_at = start + at as u64;
    let locator = at.checked_sub(LOCATOR).map(|from| &bytes[from..at]).filter(|bytes| bytes.starts_with(b"PK\x06\x07"));
    if let Some(locator) = locator {
        let at = u64_at(locator, 8);
        if at.checked_add(END64).is_none_or(|to| to != ends_at - LOCATOR as u64) {
            return Err(Refusal::archive("it is damaged: its zip64 record does not stand where it should"));
        }
        let mut record = [0; END64 as usize];
        file.seek(SeekFrom::Start(at))?;
        file.read_exact(&mut record)?;
        if !record.starts_with(b"PK\x06\x06") {
            return Err(Refusal::archive("it is damaged: its zip64 record does not stand where it should"));
        }
        (here, entries) = (u64_at(&record, 24), u64_at(&record, 32));
        (size, offset, ends_at) = (u64_at(&record, 40), u64_at(&record, 48), at);
    }
    file.rewind()?;
    if disk != directory_disk && disk != u16::MAX && directory_disk != u16::MAX || here != entries {
        return Err(Refusal::archive("it is one part of several"));
    }
    if entries > most as u64 {
        return Err(Refusal::archive(format!("it holds more than {most} files and folders")));
    }
    if size > MAX_DIRECTORY {
        return Err(Refusal::archive("its directory is too large"));
    }
    if offset.checked_add(size) != Some(ends_at) {
        return Err(Refusal::archive("it is damaged: its directory does not stand where it should"));
    }
    Ok(())
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from(u16_at(bytes, at)) | u32::from(u16_at(bytes, at + 2)) << 16
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}

fn whole(error: &ZipError) -> Refusal {
    match error {
        ZipError::Io(error) => Refusal::reading(error, None),
        other => Refusal::archive(format!("it is damaged: {}", super::shown(other.to_string().as_bytes()))),
    }
}

fn of_entry(name: &[u8], error: &ZipError) -> Refusal {
    match error {
        ZipError::Io(error) => Refusal::reading(error, Some(name)),
        other => Refusal::entry(name, format!("it cannot be read: {}", super::shown(other.to_string().as_bytes()))),
    }
}
