-- What an operator sees in psql as a member of loom_operator: where something stands, in ids, codes
-- and numbers. A view reads with the rights of loom_owner, which no policy binds, so it shows every
-- org; for that reason none shows a key, a label, a value or a reason that a caller wrote.

-- Few rows are locked at any time: they are found without reading the others.
create index memory_lock_idx on loom.memory (org, namespace) where lock_mode is not null;

-- A barrier, because a condition with a function of the reader's own would else be shown rows that
-- are not locked.
create view loom.v_locks with (security_barrier = true) as
select locked.org, locked.namespace, locked.memory_id, locked.memory_type, locked.lock_mode as mode,
  locked.lock_until as until, since.recorded_at as locked_at, since.actor as locked_by
from loom.memory as locked
cross join lateral (
  select recorded_at, actor from loom.memory_version
  where org = locked.org and memory_id = locked.memory_id and change = 'lock'
  order by version desc
  limit 1
) as since
where locked.lock_mode is not null and (locked.lock_until is null or locked.lock_until > now());
comment on view loom.v_locks is
  'Locks in force: which row by its id, the mode (read_only, no_delete), until when (null: until unlocked), since when and by whom.';
