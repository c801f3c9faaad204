create or replace function loom._schema_size(p_schema jsonb) returns jsonb
language plpgsql immutable parallel safe
as $$
begin
  if loom._schema_values(p_schema) > 256 then
    return loom._schema_fault('$.properties', 'may hold more than 256 values; an array counts its maxItems, or 50');
  end if;
  if loom._schema_estimate(p_schema) > 16384 then
    return loom._schema_fault('$.properties', 'may take more than 16384 tokens by its estimate');
  end if;
  if octet_length(loom._canonical(p_schema, '$')) > 16384 then
    return loom._schema_fault('$', 'is larger than 16 KiB as canonical JSON');
  end if;
  return null;
end
$$;
comment on function loom._schema_size(jsonb) is
  'The fault of a profile schema, sound in its parts, that is too large or whose answers may be; else null.';
