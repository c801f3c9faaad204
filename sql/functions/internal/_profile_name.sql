create or replace function loom._profile_name(p_found text[]) returns text
language plpgsql stable parallel safe
as $$
declare
  v_name text;
begin
  select name into v_name
  from unnest(p_found) with ordinality as said (words, place)
  cross join lateral (
    select substring(words collate "default" from '^[[:upper:]][^ ]*(?: [[:upper:]][^ ]*)*') as name
  ) as capitals
  where name is not null and not exists (
    select from unnest(loom._profile_words(name)) as part (word) join loom.profile_word using (word)
    where kind = 'no_name')
  order by place desc
  limit 1;
  return v_name;
end
$$;
comment on function loom._profile_name(text[]) is
  'The last of these that reads as a name: words with capitals, none of which is known to be no name.';
