create or replace function loom._loom_seed(p_caller loom.caller, p_loom loom.loom) returns loom.loom
language plpgsql volatile
as $$
declare
  v_org text := p_caller.org;
  v_source uuid := p_loom.seed_from_loom_id;
  v_users text[];
  v_loom loom.loom;
begin
  -- What is copied is written under its users: their locks first, as for any write, so that an erasure finds it.
  v_users := array(
    select distinct user_id from loom.loom_thread
    where org = v_org and loom_id = v_source and agent = '-' and deleted_at is null order by user_id);
  perform pg_advisory_xact_lock_shared(loom._user_lock_key(v_org, user_id)) from unnest(v_users) as user_id;
  v_loom := loom._loom_locked(p_caller, p_loom.loom_id);
  if v_loom.seeded_at is not null then
    return v_loom;  -- by a rival, meanwhile
  end if;
  insert into loom.loom_thread (org, namespace, loom_id, user_id, agent, text, tags, woven_from, created_at, created_by,
    updated_at, updated_by)
  select v_org, v_loom.namespace, v_loom.loom_id, user_id, '-', text, tags, array[thread_id], created_at, created_by,
    updated_at, updated_by
  from loom.loom_thread
  where org = v_org and loom_id = v_source and agent = '-' and deleted_at is null and user_id = any (v_users)
    and (loom._blacklist_hit(p_caller, array[text] || tags)).blacklist_id is null;
  update loom.loom
  set seeded_at = p_caller.called_at, last_woven_at = case when found then p_caller.called_at else last_woven_at end,
    updated_at = p_caller.called_at, updated_by = p_caller.actor
  where org = v_org and loom_id = v_loom.loom_id
  returning * into v_loom;
  return v_loom;
end
$$;
comment on function loom._loom_seed(loom.caller, loom.loom) is
  'Copies the shared threads of the loom that this one inherits from, once: in one statement, so that a thread woven there meanwhile is copied or not. Each copy stays its user''s; what is blacklisted by now is not copied.';
