create or replace function loom._build_ready(
  p_schema loom.profile_schema, p_kind loom.work_kind, p_user_id text, p_model_calls boolean, p_at timestamptz
) returns boolean
language plpgsql volatile
as $$
declare
  v_org text := p_schema.org;
  v_namespace text := p_schema.namespace;
  v_kind text := p_kind.kind;
  v_state loom.user_state;
  v_old loom.build;
  v_new loom.build;
  v_row loom.memory;
  v_refusal text;
begin
  v_state := loom._state_of_kind(loom._state_try(v_org, v_namespace, p_user_id, p_at), v_kind);
  select * into v_old from loom.build
  where org = v_org and namespace = v_namespace and kind = v_kind and user_id = p_user_id;
  if v_state.org is null then
    return null;
  end if;
  if v_old.org is null or v_old.leased_until > p_at then
    return false;
  end if;
  v_new := v_old;
  if v_old.lease_id is not null then
    v_new := loom._build_unlease(v_new);
    v_new.last_error := 'LEASE_LOST';
    perform loom._work_counted(v_kind, 'lost', 1, p_at);
  end if;
  v_new := loom._build_seen(v_new, p_schema, p_at);
  v_new := loom._build_look(v_new, v_state, p_kind, p_schema, p_at);
  if v_new.listed_at is not null and v_new.due_at <= p_at then
    v_row := loom._built_row(v_org, v_namespace, p_user_id, p_kind.label);
    v_refusal := loom._row_refusal(v_row, p_at);
    if v_refusal is not null then
      -- Before any call is paid for.
      v_new := loom._build_look(loom._build_refuse(v_new, p_kind, v_refusal, v_row.lock_until, p_at),
        v_state, p_kind, p_schema, p_at);
    end if;
  end if;
  if v_new is distinct from v_old then
    perform loom._build_store(v_new);
  end if;
  -- A user of whom more has expired than a claim settles stays due, and the next one goes on.
  return v_new.listed_at is not null and v_new.due_at <= p_at and v_new.refused is null
    and (p_model_calls or v_new.modelless) and (v_state.next_change_at > p_at) is not false;
end
$$;
comment on function loom._build_ready(loom.profile_schema, loom.work_kind, text, boolean, timestamptz) is
  'Locks a user, unless someone else has it, settles its sources and looks at its build anew: true when it is to be built now, null when someone else has it. A build that needs nothing but a stamp of the schema''s revision, or that its row refuses, is done with here.';
