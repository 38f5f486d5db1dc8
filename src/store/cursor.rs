//! Small named values: how far a log was read, when something last happened.

use super::{Error, Store};

impl Store {
    /// # Errors
    /// The database failed.
    pub async fn get_cursor(&self, name: &str) -> Result<Option<String>, Error> {
        Ok(sqlx::query_scalar("SELECT value FROM cursor WHERE name = ?")
            .bind(name)
            .fetch_optional(&mut *self.reader().await?)
            .await?)
    }

    /// # Errors
    /// The database failed.
    pub async fn set_cursor(&self, name: &str, value: &str) -> Result<(), Error> {
        let mut tx = self.begin_one().await?;
        sqlx::query(
            "INSERT INTO cursor (name, value, updated_at) VALUES (?1, ?2, ?3)
             ON CONFLICT (name) DO UPDATE SET value = ?2, updated_at = ?3",
        )
        .bind(name)
        .bind(value)
        .bind(self.now())
        .execute(&mut *tx)
        .await?;
        tx.commit().await
    }
}
