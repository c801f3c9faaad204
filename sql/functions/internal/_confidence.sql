create or replace function loom._confidence(p_request jsonb) returns numeric
language sql immutable parallel safe
as $$
  select case when jsonb_typeof(p_request -> 'confidence') <> 'null' then loom._confidence_given(p_request) end
$$;
comment on function loom._confidence(jsonb) is 'How sure a fact is, 0 to 1, three decimals kept; null when left out. LM001 otherwise.';
