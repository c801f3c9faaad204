create or replace function loom._token_quarters(p_text text) returns bigint
language sql immutable strict parallel safe
as $$
  -- Two bytes count as much as one character takes off: 1 for ASCII, 3 for Cyrillic, 5 for CJK, 7 for an
  -- emoji. Sums are exact, so that a budget can be shared out piece by piece.
  select 2::bigint * octet_length(p_text) - char_length(p_text)
$$;
comment on function loom._token_quarters(text) is
  'How many quarters of a token a text is taken for: a token is about four ASCII characters, and a character of three bytes is a little over one. An estimate, on the safe side for most tokenizers; quarters of parts add up to that of the whole.';
