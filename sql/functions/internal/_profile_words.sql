create or replace function loom._profile_words(p_text text) returns text[]
language plpgsql immutable strict parallel safe
as $$
begin
  return array_remove(
    regexp_split_to_array(lower(p_text collate "default"), E'[^[:alnum:]\\u0300-\\u036f]+'), '');
end
$$;
comment on function loom._profile_words(text) is
  'The words of a text in lower case, split at all that is no letter, digit or combining mark.';
