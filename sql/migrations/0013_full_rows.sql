-- For operators, as the views before: who has blocks, facts or sections whose next write may be refused for
-- want of room. A refused write leaves no row behind; what it was refused by does. No key and no session,
-- which a caller wrote: an admin of the org finds the block by the fill_ratio of its list.

create view loom.v_full with (security_barrier = true) as
select org::text, namespace::text, user_id::text, plane, count(*) as full_rows,
  round(max(value_length::numeric / char_limit), 4) as fill_ratio, max(updated_at) as updated_at
from (
  select org, namespace, user_id, 'working_memory' as plane, value_length, char_limit, updated_at
  from loom.working_memory where deleted_at is null
  union all
  select org, namespace, user_id, case memory_type when 'profile' then 'profile' else 'memory' end, value_length,
    char_limit, changed_at
  from loom.memory where deleted_at is null and redacted_at is null
) as kept
where value_length >= 0.9 * char_limit
group by org, namespace, user_id, plane;
comment on view loom.v_full is
  'Who has rows that are nine tenths full or more, by plane (working_memory, memory, profile): how many, how full the fullest is, and when one of them was last written. Reads all rows: name the org.';
