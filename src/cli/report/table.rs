//! Rows in columns.

/// One line a row: every column as wide as its widest cell, two blanks between them, nothing after the last.
pub fn table(rows: &[Vec<String>]) -> Vec<String> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or_default()).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::table;

    #[test]
    fn columns_stand_under_each_other_and_no_line_ends_in_blanks() {
        let rows = [vec!["a", "long", ""], vec!["ü", "b", "c"], vec!["wide", "", ""]];
        let rows: Vec<Vec<String>> = rows.map(|row| row.into_iter().map(str::to_owned).collect()).to_vec();
        assert_eq!(table(&rows), ["a     long", "ü     b     c", "wide"]);
    }
}
