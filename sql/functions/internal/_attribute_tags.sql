create or replace function loom._attribute_tags(p_tags text[], p_leaves text[]) returns text[]
language plpgsql volatile
as $$
declare
  -- Split at all that is no letter, digit or combining mark: one pass, in half the time that naming the
  -- separators takes.
  v_words text[] := regexp_split_to_array(
    lower(array_to_string(p_leaves, ' ') collate "default"), E'[^[:alnum:]\\u0300-\\u036f]+');
  v_found text[];
begin
  select array_agg(distinct 'attribute:' || attribute) into v_found
  from unnest(v_words) as said (word) join loom.attribute_word using (word)
  where not exists (select from loom.setting where name = 'memory_attribute_tagging' and value = 'off');
  if v_found is null then
    return p_tags;
  end if;
  return array(select distinct tag collate "C" from unnest(p_tags || v_found) as tag order by 1);
end
$$;
comment on function loom._attribute_tags(text[], text[]) is
  'The tags of a row with attribute:<name> for each protected attribute its value speaks of, by whole words in any case; as given while tagging is switched off.';
