-- Users of the first schema; the others' rows are theirs.
insert into loom.user_state (org, namespace, user_id, created_at)
select %(org)s, %(namespace)s, 'user-' || n, now() from generate_series(0, %(users)s - 1) as n
