create or replace function loom._words(p_language text, p_text text) returns tsvector
language plpgsql immutable parallel safe
set client_min_messages = warning  -- a word too long to be indexed is no news
as $$
declare
  v_config regconfig := ('pg_catalog.' || quote_ident(p_language))::regconfig;
  -- Signs that make one word of two, or a sign of a number.
  v_text text := translate(left(p_text, 100000), '/\_|-+', '      ');
  v_runs text[];
begin
  if octet_length(v_text) = char_length(v_text) then
    return to_tsvector(v_config, v_text);
  end if;
  v_text := normalize(v_text, nfkc);
  v_runs := loom._cjk_runs(v_text);
  if v_runs = '{}' then
    return to_tsvector(v_config, v_text);
  end if;
  return to_tsvector(v_config, loom._without_cjk(v_text)) || array_to_tsvector(loom._cjk_pairs(v_runs));
end
$$;
comment on function loom._words(text, text) is
  'What a text is found by, and what a query asks for, in a text search configuration of the server, named outright: words of its first 100,000 characters, and pairs of characters where it is written without spaces.';
