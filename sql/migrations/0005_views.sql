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

-- The planes are those that an erasure answers, so that the numbers can be held against each other. All
-- parts have the same types, else a condition on org and user would be judged after counting everything.
create view loom.v_user_rows as
select org::text, user_id::text, namespace::text, 'working_memory' as plane, count(*) as total,
  count(*) filter (where deleted_at is null) as live, coalesce(sum(value_length), 0) as characters,
  min(created_at) as oldest_at, max(updated_at) as newest_at
from loom.working_memory
group by 1, 2, 3
union all
select org::text, user_id::text, namespace::text,
  case when memory_type <> 'profile' then 'memory'
    when memory_key = 'structured_profile' and agent = '-' then 'structured_profile' else 'profile' end,
  count(*),
  count(*) filter (where deleted_at is null and redacted_at is null and (expires_at is null or expires_at > now())),
  coalesce(sum(value_length), 0), min(created_at), max(recorded_at)
from loom.memory
where version > 0  -- as every row's is: the index of a user's rows is used by those who say so
group by 1, 2, 3, 4
union all
-- A value stands once, in the version that first had it.
select org::text, user_id::text, namespace::text, 'memory_version', count(*),
  count(*) filter (where value_version = version),
  coalesce(sum(value_length) filter (where value_version = version), 0), min(recorded_at), max(recorded_at)
from loom.memory_version
group by 1, 2, 3
union all
select org::text, user_id::text, namespace::text, 'activity', count(*), count(*), 0::bigint,
  min(last_at), max(last_at)
from loom.profile_activity
group by 1, 2, 3
union all
-- A stored answer belongs to no namespace.
select told.org::text, told.user_id::text, null::text, 'idempotency', count(*),
  count(*) filter (where kept.expires_at > now()), 0::bigint, min(kept.created_at), max(kept.created_at)
from loom.idempotency_user as told
join loom.idempotency as kept
  on kept.org = told.org and kept.actor = told.actor and kept.op = told.op and kept.key = told.key
group by 1, 2;
comment on view loom.v_user_rows is
  'How many rows a user has: by org, namespace and plane, how many of them are live, how many characters they hold, and from when to when. Read it with org and user_id.';
