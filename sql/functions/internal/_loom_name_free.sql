create or replace function loom._loom_name_free(p_caller loom.caller, p_name text) returns boolean
language plpgsql volatile
as $$
declare
  v_org text := p_caller.org;
  v_namespace text := p_caller.namespace;
begin
  -- A name that is not there yet cannot be locked; rivals for one wait here.
  perform pg_advisory_xact_lock(hashtextextended(jsonb_build_array('loom', v_namespace, p_name)::text, hashtextextended(v_org, 1)));
  perform from loom.loom where org = v_org and namespace = v_namespace and name = p_name;
  if found then
    raise exception using errcode = 'LM202', message = 'There is one already.',
      hint = 'A loom''s name is unique in its namespace: read that loom, or take another name.';
  end if;
  return true;
end
$$;
comment on function loom._loom_name_free(loom.caller, text) is
  'True when no loom of the namespace has the name; until the transaction ends no other takes it. LM202.';
