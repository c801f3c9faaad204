create or replace function loom._erasure_namespaces(p_caller loom.caller, p_request jsonb) returns text[]
language plpgsql immutable
as $$
declare
  v_value jsonb := coalesce(p_request -> 'namespaces', 'null');
  v_namespaces text[];
begin
  if p_caller.user_id = '-' then
    raise exception using errcode = 'LM001', message = 'The request is not valid.',
      detail = jsonb_build_object('field', 'user_id', 'reason', 'must name a user')::text,
      hint = 'An erasure is for one user.';
  end if;
  if not p_caller.is_admin and (p_caller.bound_user is distinct from p_caller.user_id
    or p_caller.bound_session is not null) then
    raise exception using errcode = 'LM302', message = 'The caller may not do this.',
      detail = jsonb_build_object('reason', 'role', 'needed', 'admin')::text,
      hint = 'An admin erases users; a pinned token erases its own.';
  end if;
  if v_value <> 'null' then
    perform loom._check_strings(v_value, 'namespaces');
    v_namespaces := array(select distinct name collate "C" from jsonb_array_elements_text(v_value) as name order by 1);
    if cardinality(v_namespaces) not between 1 and 1000 then
      raise exception using errcode = 'LM001', message = 'The request is not valid.',
        detail = jsonb_build_object('field', 'namespaces', 'reason', 'must name 1 to 1000 namespaces')::text,
        hint = 'Leave it out for all of the org.';
    end if;
  end if;
  if p_caller.bound_namespace is null then
    return v_namespaces;
  end if;
  if v_namespaces <> array[p_caller.bound_namespace] then
    raise exception using errcode = 'LM302', message = 'The caller may not do this.',
      detail = jsonb_build_object('reason', 'namespace is not the token''s')::text,
      hint = 'This token reaches only its own namespace.';
  end if;
  return array[p_caller.bound_namespace];
end
$$;
comment on function loom._erasure_namespaces(loom.caller, jsonb) is
  'Which namespaces an erasure covers: those named, a bound token''s own, else null for all. Refuses user - and who may not erase the user. LM001, LM302.';
