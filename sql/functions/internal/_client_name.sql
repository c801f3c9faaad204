create or replace function loom._client_name(p_caller loom.caller) returns text
language plpgsql volatile
as $$
declare
  v_token loom.token;
begin
  if not p_caller.actor ^@ 'token:' then
    return p_caller.actor;
  end if;
  select * into v_token from loom.token
  where org = p_caller.org and token_id = substr(p_caller.actor, 7)::uuid;
  return coalesce(v_token.label, v_token.role);
end
$$;
comment on function loom._client_name(loom.caller) is 'How an activity names a client: its token''s label, or role where it has none.';
