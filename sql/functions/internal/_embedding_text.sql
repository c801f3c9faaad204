create or replace function loom._embedding_text(p_row loom.memory) returns text
language plpgsql immutable
as $$
begin
  -- Values are often no more than a word or a number: their key says of what.
  return left(translate(p_row.memory_key, '_.:/-', '     ') || ': ' || loom._search_body(p_row), 8000);
end
$$;
comment on function loom._embedding_text(loom.memory) is
  'What a vector is made of: the words of the key and the value as text, 8,000 characters at most.';
