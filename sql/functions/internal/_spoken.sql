create or replace function loom._spoken(p_text text) returns text
language plpgsql immutable parallel safe
as $$
begin
  return ' ' || regexp_replace(lower(normalize(p_text, nfkc) collate "default"), E'[^[:alnum:]\\u0300-\\u036f]+', ' ', 'g') || ' ';
end
$$;
comment on function loom._spoken(text) is 'A text as its words in lower case, a space around each: so that whole words are looked for by position.';
