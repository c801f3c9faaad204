create or replace function loom._schema_estimate(p_schema jsonb) returns bigint
language plpgsql immutable parallel safe
as $$
begin
  return 32 + (
    select sum((char_length(name) + 5) / 2 + case property ->> 'type'
      when 'array' then coalesce((property -> 'maxItems')::integer, 50) * loom._schema_value_estimate(property -> 'items')
      else loom._schema_value_estimate(property)
    end)
    from jsonb_each(p_schema -> 'properties') as declared (name, property)
  );
end
$$;
comment on function loom._schema_estimate(jsonb) is
  'The tokens that a full answer in the shape of a profile schema may take: 32, half a token for each character of a key and for four more of punctuation, and each value.';
