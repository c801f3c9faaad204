create or replace function loom._schema_range(p_path text, p_schema jsonb, p_least text, p_most text) returns jsonb
language plpgsql immutable parallel safe
as $$
begin
  if (p_schema -> p_least)::numeric > (p_schema -> p_most)::numeric then
    return loom._schema_fault(p_path || '.' || p_least, format('is more than %s', p_most));
  end if;
  return null;
end
$$;
comment on function loom._schema_range(text, jsonb, text, text) is
  'The fault of two bounds of a profile schema, each judged before, of which the lower is above the upper; else null.';
