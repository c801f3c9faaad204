create or replace function loom._model_calls(p_org text) returns boolean
language plpgsql stable
set search_path = loom, pg_temp
as $$
begin
  perform from loom.org_setting where org = p_org and not model_calls;
  return not found;
end
$$;
comment on function loom._model_calls(text) is 'Whether the org lets a model be called; it does unless an admin has switched that off.';
