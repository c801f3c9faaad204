create or replace function loom._schema_name(p_path text, p_name text) returns jsonb
language plpgsql immutable parallel safe
as $$
begin
  return case when char_length(p_name) not between 1 and 200 or octet_length(p_name) > 256
    then loom._schema_fault(p_path, 'must have a name of 1 to 200 characters and at most 256 bytes') end;
end
$$;
comment on function loom._schema_name(text, text) is
  'The fault of a property''s name, null when there is none.';
