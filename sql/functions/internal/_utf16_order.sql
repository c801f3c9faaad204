create or replace function loom._utf16_order(p_key text) returns text
language plpgsql immutable strict parallel safe
as $$
begin
  -- By code units, U+10000 and above (surrogates D800-DFFF) come before U+E000-U+FFFF; by bytes of
  -- UTF-8 they come after. Everything else is alike in both.
  if p_key ~ E'[\uE000-\uFFFF\U0010FFFF]' collate "C" then
    p_key := replace(p_key, E'\U0010FFFF', E'\U0010FFFF\u0001');
    p_key := regexp_replace(p_key, E'([\uE000-\uFFFF])' collate "C", E'\U0010FFFF\\1', 'g');
  end if;
  return p_key;
end
$$;
comment on function loom._utf16_order(text) is
  'A text whose byte order is the order of the key''s UTF-16 code units, by which canonical JSON sorts.';
