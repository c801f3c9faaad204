create or replace function loom._thread_revert(p_caller loom.caller, p_change loom.loom_weaving_change) returns boolean
language plpgsql volatile
as $$
declare
  v_org text := p_caller.org;
  v_thread loom.loom_thread;
  v_new loom.loom_thread;
  v_before loom.loom_thread_version;
  v_hit loom.blacklist;
begin
  -- The weaving's own version, or that one again since what came later was taken back.
  select * into v_thread from loom.loom_thread
  where org = v_org and thread_id = p_change.thread_id and weaving_id = p_change.weaving_id
  for update;
  if not found then
    return false;  -- erased, or changed since: what came later stays
  end if;
  v_new := v_thread;
  v_new.weaving_id := null;
  v_new.deleted_at := p_caller.called_at;
  if p_change.action <> 'add' then
    select * into v_before from loom.loom_thread_version
    where org = v_org and thread_id = p_change.thread_id and version = p_change.from_version;
    v_hit := loom._blacklist_hit(p_caller, array[v_before.text] || v_before.tags);
    if v_before.thread_id is null or v_hit.blacklist_id is not null then
      return false;
    end if;
    v_new.text := v_before.text;
    v_new.tags := v_before.tags;
    v_new.woven_from := v_before.woven_from;
    v_new.weaving_id := v_before.weaving_id;
    v_new.deleted_at := v_before.deleted_at;
  end if;
  perform loom._loom_thread_store(v_thread, v_new, p_caller.actor, p_caller.called_at);
  update loom.loom_weaving_change set reverted = true
  where org = v_org and weaving_id = p_change.weaving_id and place = p_change.place;
  return true;
end
$$;
comment on function loom._thread_revert(loom.caller, loom.loom_weaving_change) is
  'Takes one change of a weaving back: a new version with the content of before, or a tombstone for what was added. False where the thread is gone or has changed since, and for a text that the blacklist names by now.';
