create or replace function loom._check_strings(p_value jsonb, p_field text) returns boolean
language plpgsql immutable parallel safe
as $$
begin
  if jsonb_typeof(p_value) <> 'array'
    or jsonb_path_exists(p_value, 'strict $[*] ? (@.type() != "string")') then
    raise exception using errcode = 'LM001', message = 'The request is not valid.',
      detail = jsonb_build_object('field', p_field, 'reason', 'must be a list of strings')::text,
      hint = 'Correct the named field and send the request again.';
  end if;
  return true;
end
$$;
comment on function loom._check_strings(jsonb, text) is 'LM001 unless the value is a list of strings.';
