create or replace function loom._schema_sha256(p_schema jsonb) returns text
language plpgsql immutable parallel safe
as $$
declare
  v_properties jsonb;
begin
  select jsonb_object_agg(name, property - 'title' || case
    when property ? 'items' then jsonb_build_object('items', (property -> 'items') - 'title') else '{}' end)
  into v_properties
  from jsonb_each(p_schema -> 'properties') as declared (name, property);
  return loom._sha256(loom._canonical(v_properties, '$.properties'));
end
$$;
comment on function loom._schema_sha256(jsonb) is
  'SHA-256 of the canonical JSON of a profile schema''s properties without their titles and those of their items: the same however they are ordered.';
