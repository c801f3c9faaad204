create or replace function loom._settle(p_org text, p_namespace text, p_user_id text, p_at timestamptz) returns void
language plpgsql volatile
set plan_cache_mode = force_generic_plan
as $$
declare
  v_ids uuid[];
  v_ended loom.memory;
begin
  -- A bounded number, so that no single write pays for a mass expiry; until all are settled the user
  -- reads as stale, and whoever comes next settles more.
  v_ids := array(
    select memory_id from loom.memory
    where org = p_org and namespace = p_namespace and user_id = p_user_id and changes_at <= p_at
    order by changes_at, memory_id
    limit 1000);
  -- Whichever moment has passed, the row is no source any longer.
  update loom.memory set source_part = null, changes_at = null
  where org = p_org and memory_id = any (v_ids);
  -- A twin takes the place of one that expired, and waits for one that is only past its valid_to.
  for v_ended in
    select distinct on (agent, session_id, memory_type, content_sha256) * from loom.memory
    where org = p_org and memory_id = any (v_ids) and expires_at is not null
    order by agent, session_id, memory_type, content_sha256
  loop
    perform loom._twins(v_ended, p_at);
  end loop;
end
$$;
comment on function loom._settle(text, text, text, timestamptz) is
  'What time has done to a user''s sources since someone last looked: rows past their valid_to or expiry count no longer, and the oldest live twin of an expired row takes its place. Behind the user''s state row; at most 1,000 rows a call.';
