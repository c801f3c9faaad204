create or replace function loom._loom_thread_store(p_old loom.loom_thread, p_new loom.loom_thread, p_actor text, p_at timestamptz)
returns loom.loom_thread
language plpgsql volatile
as $$
declare
  v_org text := p_old.org;
begin
  insert into loom.loom_thread_version (org, namespace, loom_id, thread_id, version, user_id, text, tags, woven_from, weaving_id,
    deleted_at, recorded_at, actor)
  values (v_org, p_old.namespace, p_old.loom_id, p_old.thread_id, p_old.version, p_old.user_id, p_old.text, p_old.tags,
    p_old.woven_from, p_old.weaving_id, p_old.deleted_at, p_old.updated_at, p_old.updated_by);
  update loom.loom_thread
  set text = p_new.text, tags = p_new.tags, woven_from = p_new.woven_from, weaving_id = p_new.weaving_id,
    version = version + 1, deleted_at = p_new.deleted_at, updated_at = p_at, updated_by = p_actor
  where org = v_org and thread_id = p_old.thread_id
  returning * into p_new;
  return p_new;
end
$$;
comment on function loom._loom_thread_store(loom.loom_thread, loom.loom_thread, text, timestamptz) is
  'Makes a new version of a thread, whose row is locked, and keeps the one before.';
