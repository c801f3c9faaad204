create or replace function loom._weaving_write(
  p_caller loom.caller, p_loom loom.loom, p_weaving_id uuid, p_change loom.loom_weaving_change, p_woven_from uuid[]
) returns loom.loom_weaving_change
language plpgsql volatile
as $$
declare
  v_org text := p_loom.org;
  v_old loom.loom_thread;
  v_new loom.loom_thread;
begin
  if p_change.action = 'add' then
    insert into loom.loom_thread (org, namespace, loom_id, user_id, agent, text, woven_from, weaving_id, created_at, created_by,
      updated_at, updated_by)
    values (v_org, p_loom.namespace, p_loom.loom_id, p_change.user_id, p_change.agent, p_change.text, p_woven_from, p_weaving_id,
      p_caller.called_at, p_caller.actor, p_caller.called_at, p_caller.actor)
    returning * into v_new;
  else
    select * into v_old from loom.loom_thread where org = v_org and thread_id = p_change.thread_id;
    v_new := v_old;
    v_new.weaving_id := p_weaving_id;
    if p_change.action = 'retire' then
      v_new.deleted_at := p_caller.called_at;
    else
      v_new.text := p_change.text;
      v_new.woven_from := array(
        select distinct id from unnest(v_old.woven_from || p_woven_from) as id order by id limit 200);
    end if;
    v_new := loom._loom_thread_store(v_old, v_new, p_caller.actor, p_caller.called_at);
  end if;
  p_change.thread_id := v_new.thread_id;
  p_change.to_version := v_new.version;
  return p_change;
end
$$;
comment on function loom._weaving_write(loom.caller, loom.loom, uuid, loom.loom_weaving_change, uuid[]) is
  'Carries out one change of a weaving: a new thread, a new version or a tombstone, each with the weaving''s id; never a removal.';
