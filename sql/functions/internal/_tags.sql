create or replace function loom._tags(p_request jsonb, p_field text) returns text[]
language sql immutable parallel safe
as $$
  select case when jsonb_typeof(p_request -> p_field) <> 'null' then loom._tags_given(p_request, p_field) end
$$;
comment on function loom._tags(jsonb, text) is
  'A list of tags, sorted and each once; null when left out. LM001 when it is no list of strings, LM406 over 50 tags (those of attributes not counted) or 100 characters.';
