create or replace function loom._choice(p_request jsonb, p_field text, p_choices text[]) returns text
language sql immutable parallel safe
as $$
  select case when jsonb_typeof(p_request -> p_field) <> 'null' then loom._choice_given(p_request, p_field, p_choices) end
$$;
comment on function loom._choice(jsonb, text, text[]) is
  'A field of a request that takes one of a few words; null when left out or null. LM001 otherwise.';
