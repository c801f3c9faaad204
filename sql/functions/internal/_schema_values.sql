create or replace function loom._schema_values(p_schema jsonb) returns bigint
language plpgsql immutable parallel safe
as $$
begin
  return (
    select sum(case property ->> 'type' when 'array' then coalesce((property -> 'maxItems')::integer, 50) else 1 end)
    from jsonb_each(p_schema -> 'properties') as declared (name, property)
  );
end
$$;
comment on function loom._schema_values(jsonb) is
  'How many values a full answer in the shape of a profile schema holds: one a property, and of an array its maxItems.';
