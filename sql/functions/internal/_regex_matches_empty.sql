create or replace function loom._regex_matches_empty(p_pattern text) returns boolean
language plpgsql immutable
as $$
begin
  return '' ~* p_pattern;
exception when invalid_regular_expression then
  return null;
end
$$;
comment on function loom._regex_matches_empty(text) is
  'Whether a regular expression matches the empty text, and so every text; null when it does not compile.';
